"""The folder that the tests of the server index, and how its index changes."""

import cdesearch
from cdesearch.store.index import Index

PAGES = {
    "pets/cats.md": "# Cats\n\nA cat purrs when it is content.\n\n## Kittens\n\nKittens sleep most of the day.",
    "pets/dogs.md": "# Dogs\n\nA dog barks at strangers and fetches sticks.",
    "kitchen/bread.md": "# Bread\n\nKnead the dough, let it rise, and bake it for forty minutes.",
    "kitchen/<b>soup.py": "# simmer onions and carrots in water\nheat(water)\n",
    "space/moon.txt": "The moon pulls the tides of the sea.",
    "long.md": "# Long\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"the river has stone {n}. " * 40 for n in range(4)),
}


def write_pages(root, pages=None):
    for name, text in (pages or PAGES).items():
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def update(root, checkpoint, number):
    """Make a new generation, which contains one more file."""
    (root / f"new{number}.md").write_text(f"the engine number {number}")
    cdesearch.build(root, model=checkpoint).close()


def damage(root):
    """Break a table of the newest generation, as a failing disk does."""
    index = Index.open(root)
    file = next(index.generation.glob("tables/chunks.lance/data/*.lance"))
    file.write_bytes(b"\0" * file.stat().st_size)
    return index.generation.name

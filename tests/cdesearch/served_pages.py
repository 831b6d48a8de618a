"""The pages that the tests of the server index, and how their index changes."""

from built import write_files

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


def write_pages(root):
    return write_files(root, PAGES)


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

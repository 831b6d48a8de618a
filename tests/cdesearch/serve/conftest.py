import pytest
from running_server import running_server

import cdesearch

PAGES = {
    "pets/cats.md": "# Cats\n\nA cat purrs when it is content.\n\n## Kittens\n\nKittens sleep most of the day.",
    "pets/dogs.md": "# Dogs\n\nA dog barks at strangers and fetches sticks.",
    "kitchen/bread.md": "# Bread\n\nKnead the dough, let it rise, and bake it for forty minutes.",
    "kitchen/<b>soup.py": "# simmer onions and carrots in water\nheat(water)\n",
    "space/moon.txt": "The moon pulls the tides of the sea.",
    "long.md": "# Long\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"the river has stone {n}. " * 40 for n in range(12)),
}


def write_pages(root, pages=None):
    for name, text in (pages or PAGES).items():
        (root / name).parent.mkdir(exist_ok=True, parents=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="session")
def pages(tmp_path_factory, tiny_checkpoint):
    """An indexed folder that tests only read."""
    root = write_pages(tmp_path_factory.mktemp("served") / "pages")
    cdesearch.build(root, model=tiny_checkpoint).close()
    return root


@pytest.fixture(scope="session")
def server(pages):
    """A server for it."""
    with running_server([pages]) as running:
        yield running


@pytest.fixture
def own_pages(tmp_path, tiny_checkpoint):
    """An indexed folder that a test may change."""
    root = write_pages(tmp_path / "own")
    cdesearch.build(root, model=tiny_checkpoint).close()
    return root

import pytest
from running_server import running_server
from served_pages import write_pages

import cdesearch


@pytest.fixture(scope="session")
def pages(tmp_path_factory, tiny_checkpoint):
    """An indexed folder that tests only read."""
    root = write_pages(tmp_path_factory.mktemp("served") / "pages")
    cdesearch.build(root, model=tiny_checkpoint).close()
    return root


@pytest.fixture(scope="session")
def server(pages):
    """A server for the index of `pages`."""
    with running_server([pages]) as running:
        yield running


@pytest.fixture
def own_pages(tmp_path, tiny_checkpoint):
    """An indexed folder that a test may change."""
    root = write_pages(tmp_path / "own")
    cdesearch.build(root, model=tiny_checkpoint).close()
    return root

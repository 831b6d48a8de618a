from contextlib import ExitStack

import pytest
from built import write_files
from small_corpus import write_corpus

import cdesearch
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index


@pytest.fixture
def documents(tmp_path):
    return write_corpus(tmp_path / "documents")


@pytest.fixture(scope="module")
def searcher_of(tmp_path_factory):
    """A function that writes files, whose texts are given by name, indexes them, and returns their searcher."""
    with ExitStack() as opened:

        def made(texts, model=None):
            root = write_files(tmp_path_factory.mktemp("searched"), texts)
            cdesearch.build(root, model=model).close()
            return opened.enter_context(Searcher(Index.open(root)))

        yield made

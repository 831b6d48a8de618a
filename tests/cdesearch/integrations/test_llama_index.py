import warnings

import pytest

import cdesearch
from cdesearch.errors import IndexNotFoundError


@pytest.fixture(scope="module")
def retriever():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations of the library's own dependencies
        from cdesearch.integrations.llama_index import CdesearchRetriever
    return CdesearchRetriever


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_the_nodes_are_the_hits_of_a_search_in_their_order(docs, mode, retriever):
    hits = cdesearch.open(docs).search("the moon", 4, mode, "0*.md")
    found = retriever(str(docs), 4, mode, "0*.md").retrieve("the moon")
    assert [(one.node.node_id, one.node.text, one.score) for one in found] == [
        (hit.chunk.id, hit.chunk.body, hit.score) for hit in hits
    ]
    assert [one.node.metadata for one in found] == [
        {"source": hit.chunk.location, "title": hit.chunk.title, "trail": " > ".join(hit.chunk.trail)} for hit in hits
    ]


def test_a_folder_without_an_index_is_refused_at_once(tmp_path, retriever):
    with pytest.raises(IndexNotFoundError):
        retriever(str(tmp_path))

import pytest

import cdesearch
from cdesearch.errors import IndexNotFoundError


@pytest.fixture(scope="module")
def retriever():
    from cdesearch.integrations.langchain import CdesearchRetriever

    return CdesearchRetriever


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_the_documents_are_the_hits_of_a_search_in_their_order(docs, mode, retriever):
    hits = cdesearch.open(docs).search("the moon", 4, mode, "0*.md")
    found = retriever(folder=str(docs), k=4, mode=mode, path="0*.md").invoke("the moon")
    assert [(document.id, document.page_content) for document in found] == [
        (hit.chunk.id, hit.chunk.body) for hit in hits
    ]
    assert [document.metadata for document in found] == [
        {"source": hit.chunk.location, "title": hit.chunk.title, "trail": list(hit.chunk.trail), "score": hit.score}
        for hit in hits
    ]


def test_a_folder_without_an_index_is_refused_at_once(tmp_path, retriever):
    with pytest.raises(IndexNotFoundError):
        retriever(folder=str(tmp_path))

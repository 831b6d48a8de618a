from dataclasses import replace

import pytest

from cdesearch.search.documents import DocumentReader
from cdesearch.serve.routes import documents
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.schema import Chunk


@pytest.fixture(scope="module")
def chunks(server):
    """All chunks of a long document."""
    return DocumentReader(server.indexes[None].index).document("long.md")


def test_a_hit_is_shown_with_its_neighbours(server, chunks):
    answer = server.json("documents/long.md", chunk=chunks[5].id, around=2)
    assert (answer["document"], answer["path"], answer["index"]) == ("long.md", "long.md", "pages")
    assert (answer["n_chunks"], answer["first"]) == (len(chunks), 3)
    assert [chunk["chunk"] for chunk in answer["chunks"]] == [chunk.id for chunk in chunks[3:8]]
    assert [chunk["is_hit"] for chunk in answer["chunks"]] == [False, False, True, False, False]
    shown, chunk = answer["chunks"][2], chunks[5]
    assert (shown["text"], shown["trail"]) == (chunk.body, list(chunk.trail))
    assert (shown["line_start"], shown["line_end"], shown["page"]) == (chunk.line_start, chunk.line_end, None)


@pytest.mark.parametrize(("name", "found"), [("#b", "1"), ("#c", "2"), ("#set-up-a_b", "2"), ("#nowhere", "0")])
def test_a_link_leads_to_the_chunk_with_an_anchor_or_a_heading(name, found):
    start = Chunk("0", "a.html", None, 0, "a.html", "", (), "a", 0, None, None, None)
    chunks = (
        start,
        replace(start, id="1", places=LinePlaces(anchors=((0, "b"),))),
        replace(start, id="2", anchor="b", places=LinePlaces(((0, ("Top", "Set up: a_b!")),), ((1, "c"),))),
    )
    (chunk,) = documents._part(chunks, name, 0, bool)["chunks"]
    assert chunk["chunk"] == found


@pytest.mark.parametrize(("asked", "is_changed"), [({}, False), ({"chunk": "abc"}, True)])
def test_a_document_begins_at_its_start_without_a_chunk_or_if_it_has_changed(server, chunks, asked, is_changed):
    answer = server.json("documents/long.md", around=1, **asked)
    assert [chunk["chunk"] for chunk in answer["chunks"]] == [chunk.id for chunk in chunks[:2]]
    assert answer["changed"] is is_changed and answer["chunks"][0]["is_hit"] is False


def test_every_hit_of_a_search_can_be_opened(server):
    for hit in server.json("search", q="water", k=20)["hits"]:
        answer = server.json(f"documents/{hit['document']}", chunk=hit["chunk"])
        assert [chunk["text"] for chunk in answer["chunks"] if chunk["is_hit"]] == [hit["text"]]

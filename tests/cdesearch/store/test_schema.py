"""The place of a chunk and of a passage in it, and how an index stores it."""

from dataclasses import replace

from cdesearch.store.line_places import LinePlaces
from cdesearch.store.schema import Chunk, Inline, chunk_from_row, chunk_to_row

BODY = "one\ntwo\n\nfour\n"
CHUNK = Chunk("0", "a.txt", None, 0, "a.txt", "Title", ("Part",), f"Title\n{BODY}", len("Title\n"), 11, 14, None)


def test_a_line_of_a_chunk_has_its_number_in_the_file():
    assert [CHUNK.line_at(n) for n in range(4)] == [11, 12, 13, 14]
    assert CHUNK.location == "a.txt:11" and CHUNK.location_at(3) == "a.txt:14"


def test_the_location_names_a_page_or_an_anchor_if_there_are_no_lines():
    without_lines = replace(CHUNK, line_start=None, line_end=None)
    assert without_lines.location == "a.txt" and without_lines.line_at(2) is None
    assert replace(without_lines, anchor="part").location_at(2) == "a.txt#part"
    assert replace(without_lines, anchor="part", page=3).location_at(2) == "a.txt#page=3"


def test_a_chunk_is_read_as_it_was_written():
    places = LinePlaces(
        ((1, ("Part", "A")), (2, ("Part", "A", "x")), (3, ("B",)), (4, ())), ((2, "a"), (3, "b")), ((1, 20), (3, 40))
    )
    for chunk in (CHUNK, replace(CHUNK, places=places), replace(CHUNK, anchor="a#b"), replace(CHUNK, indent="  \t")):
        assert chunk_from_row(chunk_to_row(chunk)) == chunk


def test_the_body_has_the_indentation_that_the_text_lacks():
    indented = replace(CHUNK, indent="    ")
    assert indented.body == f"    {BODY}" and indented.content_hash == CHUNK.content_hash


def test_the_web_addresses_of_links_are_words_that_are_searched_for():
    addresses = ("https://harbour.example/tides", "../other.html", "mailto:ann@ferry.example", "#top")
    links = tuple(Inline(0, "one", "a", address) for address in addresses)
    words = chunk_to_row(replace(CHUNK, inlines=links))["words"].split()
    assert {"/harbor", "/ann"} <= {*words} and not {"/other", "/top"} & {*words}
    body = "see https://harbour.example/tides"
    shown = replace(CHUNK, inlines=links[:1], text=f"Title\n{body}", body_start=len("Title\n"))
    assert "/harbor" not in chunk_to_row(shown)["words"].split(), "the text has this address already"

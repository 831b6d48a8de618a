import re

import pytest
from conftest import make_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from read_bytes import document

from indexer.documents.chunk import Chunker, _cuts_of_long_lines
from indexer.formats.format import Anchor, Document, Heading

LIMIT = 64
TOKENIZER = make_tokenizer()
CHUNKER = Chunker(TOKENIZER, LIMIT)


def n_tokens(chunk):
    return len(TOKENIZER.encode(chunk.text).ids)


words = st.text(alphabet="abc .,#\n\t-`(){}:é漢", max_size=600)


@settings(max_examples=60, deadline=None)
@given(words, st.sampled_from(["markdown", "text", "code"]))
def test_every_visible_character_is_in_exactly_one_chunk_in_order(text, layout):
    document = Document("d", "d", "", text, layout, language="python" if layout == "code" else None, has_lines=True)
    chunks = list(CHUNKER.split(document))
    assert "".join("".join(chunk.body.split()) for chunk in chunks) == "".join(text.split())
    assert all(n_tokens(chunk) <= LIMIT for chunk in chunks)
    lines = text.split("\n")
    for chunk in chunks:
        assert chunk.body.strip() in "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_markdown_chunks_have_their_headings_and_lines():
    text = "# Guide\n\n" + "the cat sat. " * 12 + "\n\n## Setup\n\n" + "the dog ran. " * 30
    chunks = list(CHUNKER.split(document("guide.md", text)))
    last = chunks[-1]
    assert last.title == "Guide" and last.trail == ("Setup",)
    assert last.text.startswith("Guide\nSetup\n") and last.line_start == last.line_end == 7
    assert last.location == "guide.md:7"


def test_a_short_document_is_one_chunk_and_an_empty_one_none():
    (chunk,) = CHUNKER.split(document("a.txt", "the cat\n\nthe dog\n"))
    assert chunk.body == "the cat\n\nthe dog" and (chunk.line_start, chunk.line_end) == (1, 3)
    assert list(CHUNKER.split(document("a.md", " \n\n"))) == []


def test_functions_that_fit_are_kept_whole():
    functions = [f"def {name}(a):\n    return a + {number}\n" for number, name in enumerate(["cat", "dog", "moon"])]
    chunks = list(CHUNKER.split(document("a.py", "\n\n".join(functions))))
    for function in functions:
        assert any(function.strip() in chunk.body for chunk in chunks)


@pytest.mark.parametrize("text", ["x" * 60_000, "word " * 12_000, "a,b;c" * 12_000])
def test_one_endless_line_is_split_to_size(text):
    chunks = list(CHUNKER.split(Document("d", "d", "", text, "text", has_lines=True)))
    assert max(map(n_tokens, chunks)) <= LIMIT


def test_a_long_line_is_cut_at_the_end_of_a_sentence_and_its_heading_stays_with_it():
    sentence = "the cat sat on a mat, and then it ran. "
    text = f"# cat\n\n## dog\n\n{sentence * 1000}\n\n## bird\n\n{'x' * 30_000}\n"
    chunks = list(CHUNKER.split(Document("d", "d", "", text, "markdown")))
    assert chunks[0].body.startswith("# cat\n\n## dog\n\nthe cat")
    cuts = list(_cuts_of_long_lines(text, 0, len(text)))
    assert len(cuts) == 2 and text[: cuts[0]].endswith("ran. ") and text[cuts[1] - 1 : cuts[1] + 1] == "xx"


def test_a_chunk_of_code_keeps_the_indentation_of_its_first_line():
    methods = [f"    def method_{n}(self):\n\treturn {n} + sum(range(20))\n" for n in range(12)]
    cat = document("a.py", "class Cat:\n" + "\n".join(methods))
    chunks = list(CHUNKER.split(cat))
    lines = cat.text.split("\n")
    assert len(chunks) > 2 and any(chunk.indent for chunk in chunks)
    for chunk in chunks:
        assert chunk.body.rstrip().split("\n") == [*lines[chunk.line_start - 1 : chunk.line_end]]
        assert not chunk.text[chunk.body_start :].startswith((" ", "\t"))


PARTS = st.lists(st.sampled_from(["# A", "## B", "### C", "the cat sat", "", "the dog. " * 9, "# D", "e"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(PARTS, st.sets(st.integers(0, 39)))
def test_each_line_of_a_chunk_has_the_headings_and_the_anchor_above_it(parts, marked):
    text = "\n".join(parts)
    starts = [sum(len(part) + 1 for part in parts[:n]) for n in range(len(parts))]
    found = [(start, part.count("#"), part.strip("# ")) for start, part in zip(starts, parts, strict=True)]
    headings = tuple(Heading(start, level, title) for start, level, title in found if level)
    anchors = tuple(Anchor(starts[n], f"a{n}") for n in sorted(marked) if n < len(parts))
    document = Document("d", "d", "", text, "markdown", headings=headings, anchors=anchors)
    start = 0
    for chunk in CHUNKER.split(document):
        start = text.index(chunk.body, start)
        for row, offset in enumerate([start, *(start + m.end() for m in re.finditer("\n", chunk.body))]):
            above: list[Heading] = []
            for heading in headings:
                if heading.offset < offset:
                    above = [one for one in above if one.level < heading.level] + [heading]
            if any(heading.offset == offset for heading in headings):  # the line itself shows its heading
                above = [one for one in above if one.level < next(h.level for h in headings if h.offset == offset)]
            assert chunk.trail_at(row) == tuple(heading.title for heading in above)
            names = [anchor.name for anchor in anchors if anchor.offset <= offset]
            assert chunk.anchor_at(row) == (names[-1] if names else None)
        start += len(chunk.body)


def test_rows_with_gaps_between_them_keep_their_numbers_and_do_not_change_the_text():
    text, numbers = "item\nowl\n\nbread\nmilk", (1, 5, 6, 20, 21)
    (chunk,) = CHUNKER.split(Document("d", "d", "", text, "text", has_lines=True, line_numbers=numbers))
    assert [chunk.line_at(row) for row in (0, 1, 3, 4)] == [1, 5, 20, 21]
    (plain,) = CHUNKER.split(Document("d", "d", "", text, "text", has_lines=True))
    assert (chunk.id, chunk.text, chunk.content_hash) == (plain.id, plain.text, plain.content_hash)

import pytest
from conftest import make_tokenizer
from read_bytes import read_bytes

from indexer.documents.chunk import Chunker
from indexer.documents.openings import licence_end, opening_start
from indexer.formats.format import Document

TOKENIZER = make_tokenizer()
CHUNKER = Chunker(TOKENIZER, 64)
LICENCE = "# Copyright 2016, the cat.\n#\n" + "# Permission is hereby granted, free of charge.\n" * 7


def parts(before, after, layout, headings=()):
    """Two pieces of a document, without the lines that open the second, and these lines."""
    text = f"{before}{after}"
    following = len(before) + len(after) - len(after.lstrip())
    document = Document("d", "d", "", text, layout)
    start = opening_start(document, headings, (0, len(before.rstrip())), following)
    return text[:start].rstrip(), text[start : len(before.rstrip())]


@pytest.mark.parametrize("layout", ["markdown", "text"])
def test_a_term_above_its_definition_opens_it(layout):
    assert parts("The end.\n\nLayer Name\n\n", "The name of the layer.", layout) == ("The end.", "Layer Name")
    assert parts("The end.\n\nHow do I stop it?\n\n", "Press a key.", layout)[1] == "How do I stop it?"


def test_a_heading_and_the_term_below_it_open_a_text_together():
    before = "The end.\n\n## Description of the Dialog\n\nLayer Name\n\n"
    assert parts(before, "The name.", "markdown")[1] == "## Description of the Dialog\n\nLayer Name"


def test_a_heading_of_several_lines_opens_the_text_below_it():
    assert parts("The end.\n\nA title\n=======\n\n", "Text.", "markdown")[1] == "A title\n======="
    before = "The end.\n\n2. A title\nin two lines\n\n"
    assert parts(before, "Text.", "text", headings={10})[1] == "2. A title\nin two lines"
    assert parts(before, "Text.", "text")[1] == ""


@pytest.mark.parametrize("last", ["It ends.", "- an item", "| a | row", "> a quotation", "2. an item", "word " * 20])
def test_other_paragraphs_open_nothing(last):
    assert parts(f"The end.\n\n{last}\n\n", "Text.", "markdown")[1] == ""


def test_a_line_in_the_middle_of_a_paragraph_opens_nothing():
    assert parts("The end.\n\nLayer Name\n", "is a name.", "text")[1] == ""


def test_all_lines_of_a_piece_may_open_the_next_one():
    assert parts("## Layers\n\nLayer Name\n\n", "The name.", "markdown") == ("", "## Layers\n\nLayer Name")
    assert parts("class Cat:\n", "    dog = 1", "code") == ("", "class Cat:")


@pytest.mark.parametrize(
    "opening",
    [
        "class Cat:",
        "@cached\ndef cat(self):",
        "# Cats\n# and dogs",
        "def cat(\n    self,\n    dog,\n):",
        "/** Cats. */\nvoid cat() {",
    ],
)
def test_lines_that_describe_or_open_a_block_of_code_stay_with_it(opening):
    assert parts(f"dog = 1\n\n{opening}\n", '    """Text."""', "code") == ("dog = 1", opening)


def test_the_comment_before_a_block_of_code_stays_with_it():
    assert parts("dog = 1\n# Cats\n", "cat = 2", "code")[1] == "# Cats"


@pytest.mark.parametrize(
    "comment",
    ["/* The cat\n   and the dog. */", "/*\n * The cat\n" + " * and the dog\n" * 14 + " */", "/* The cat. */"],
)
def test_a_whole_comment_opens_the_constant_below_it(comment):
    assert parts(f"#define COW 1\n{comment}\n", "#define CAT 2", "code") == ("#define COW 1", comment)
    assert parts("#define COW 1 /* the\n cow */\n", "#define CAT 2", "code")[1] == ""
    assert parts("the cow */\n", "#define CAT 2", "code")[1] == ""


def test_statements_before_a_block_of_code_do_not_open_it():
    assert parts("if dog:\n    dog = 1\n    cow = 2\n", "    cat = 2", "code")[1] == ""
    assert parts("dog = 1\n", "#include <cat.h>", "code")[1] == ""


def test_a_licence_ends_before_the_first_comment_about_the_code():
    for text in (f"#!/bin/sh\n\n{LICENCE}", f"/*\n{LICENCE}*/\n"):
        document = Document("d", "d", "", f"{text}\n# Cats.\n\ncat = 1\n", "code")
        assert licence_end(document) == len(text)


def test_a_short_remark_on_a_licence_stays_with_the_code():
    assert licence_end(Document("d", "d", "", "# Licence: MIT\ncat = 1\n", "code")) == 0


def test_a_text_or_a_file_of_nothing_but_a_licence_is_not_divided():
    assert licence_end(Document("d", "d", "", LICENCE, "code")) == 0
    assert licence_end(Document("d", "d", "", f"{LICENCE}cat = 1\n", "text")) == 0


def test_a_licence_is_a_chunk_of_its_own_and_the_rest_stays_whole():
    *licence, rest = CHUNKER.split(next(read_bytes("a.py", f"{LICENCE}\ncat = 1\n\n\ndog = 2\n".encode())))
    assert "".join(chunk.body for chunk in licence).count("granted") == 7
    assert rest.body == "cat = 1\n\n\ndog = 2" and rest.line_start == LICENCE.count("\n") + 2


def test_a_definition_has_its_term_in_the_same_chunk():
    text = "".join(f"the {name}\n\n" + "the cat sat. " * 7 + "\n\n" for name in ("cat", "dog", "moon", "end"))
    chunks = list(CHUNKER.split(Document("d", "d", "", text, "markdown")))
    assert [chunk.body.split("\n")[0] for chunk in chunks] == ["the cat", "the dog", "the moon", "the end"]
    assert all(len(TOKENIZER.encode(chunk.text).ids) <= 64 for chunk in chunks)

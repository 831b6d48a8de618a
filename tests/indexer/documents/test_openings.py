import pytest
from conftest import make_tokenizer
from read_bytes import document

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


END = "The end.\n\n"
BOTH = "## Description of the Dialog\n\nLayer Name"
LONG = "/*\n * The cat\n" + " * and the dog\n" * 14 + " */"


@pytest.mark.parametrize(
    ("before", "after", "layout", "opening"),
    [
        # A term, a question or a heading opens the text below it.
        (f"{END}Layer Name\n\n", "The name of the layer.", "markdown", "Layer Name"),
        (f"{END}Layer Name\n\n", "The name of the layer.", "text", "Layer Name"),
        (f"{END}How do I stop it?\n\n", "Press a key.", "text", "How do I stop it?"),
        (f"{END}{BOTH}\n\n", "The name.", "markdown", BOTH),
        (f"{END}A title\n=======\n\n", "Text.", "markdown", "A title\n======="),
        ("## Layers\n\nLayer Name\n\n", "The name.", "markdown", "## Layers\n\nLayer Name"),
        # Other paragraphs, and lines within one, open nothing.
        *(
            (f"{END}{last}\n\n", "Text.", "markdown", "")
            for last in ("It ends.", "- an item", "| a | row", "> a quotation", "2. an item", "word " * 20)
        ),
        (f"{END}The layer\n", "Name is a name.", "text", ""),
        # A sentence stays whole, unless it is long.
        (f"{END}The layer\n", "has a name.", "text", "The layer"),
        (f"{END}It has a name. ", "and it is a layer.", "text", ""),
        ("It ends (it does.) A layer\n", "has a name.", "markdown", "A layer"),
        (f"{END}{'The layer ' * 40}\n", "has a name.", "text", ""),
        # Lines that describe or open a block of code stay with it, and so does a whole comment.
        *(
            (f"dog = 1\n\n{opening}\n", '    """Text."""', "code", opening)
            for opening in (
                "class Cat:",
                "@cached\ndef cat(self):",
                "# Cats\n# and dogs",
                "def cat(\n    self,\n    dog,\n):",
                "/** Cats. */\nvoid cat() {",
            )
        ),
        ("class Cat:\n", "    dog = 1", "code", "class Cat:"),
        ("dog = 1\n# Cats\n", "cat = 2", "code", "# Cats"),
        *(
            (f"#define COW 1\n{comment}\n", "#define CAT 2", "code", comment)
            for comment in ("/* The cat\n   and the dog. */", LONG, "/* The cat. */")
        ),
        ("#define COW 1 /* the\n cow */\n", "#define CAT 2", "code", ""),
        ("the cow */\n", "#define CAT 2", "code", ""),
        # Statements before a block of code do not open it.
        ("if dog:\n    dog = 1\n    cow = 2\n", "    cat = 2", "code", ""),
        ("dog = 1\n", "#include <cat.h>", "code", ""),
    ],
)
def test_the_lines_that_open_a_text_or_a_block_of_code_stay_with_it(before, after, layout, opening):
    kept = before.rstrip().removesuffix(opening).rstrip()
    assert parts(before, after, layout) == (kept, opening)


def test_a_heading_of_several_lines_opens_the_text_below_it():
    before = "The end.\n\n2. A title\nin two lines\n\n"
    assert parts(before, "Text.", "text", headings={10})[1] == "2. A title\nin two lines"
    assert parts(before, "Text.", "text")[1] == ""


def test_a_licence_ends_before_the_first_comment_about_the_code():
    for text in (f"#!/bin/sh\n\n{LICENCE}", f"/*\n{LICENCE}*/\n"):
        document = Document("d", "d", "", f"{text}\n# Cats.\n\ncat = 1\n", "code")
        assert licence_end(document) == len(text)


@pytest.mark.parametrize(
    ("text", "layout"),
    [("# Licence: MIT\ncat = 1\n", "code"), (LICENCE, "code"), (f"{LICENCE}cat = 1\n", "text")],
    ids=["a short remark", "nothing but a licence", "no code"],
)
def test_other_files_with_a_licence_are_not_divided(text, layout):
    assert licence_end(Document("d", "d", "", text, layout)) == 0


def test_a_licence_is_a_chunk_of_its_own_and_the_rest_stays_whole():
    *licence, rest = CHUNKER.split(document("a.py", f"{LICENCE}\ncat = 1\n\n\ndog = 2\n"))
    assert "".join(chunk.body for chunk in licence).count("granted") == 7
    assert rest.body == "cat = 1\n\n\ndog = 2" and rest.line_start == LICENCE.count("\n") + 2


def test_a_definition_has_its_term_in_the_same_chunk():
    text = "".join(f"the {name}\n\n" + "the cat sat. " * 7 + "\n\n" for name in ("cat", "dog", "moon", "end"))
    chunks = list(CHUNKER.split(Document("d", "d", "", text, "markdown")))
    assert [chunk.body.split("\n")[0] for chunk in chunks] == ["the cat", "the dog", "the moon", "the end"]
    assert all(len(TOKENIZER.encode(chunk.text).ids) <= 64 for chunk in chunks)

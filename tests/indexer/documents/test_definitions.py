import pytest
from conftest import make_tokenizer

from indexer.documents.chunk import Chunker
from indexer.documents.parsing import with_definitions
from indexer.formats.format import Document

PYTHON = '''import os


class Café(Base):
    """é"""

    def serve(
        self, guests: int
    ) -> None:
        wait()

        def inner():
            pass


TABLES = 3


async def close(reason):
    lock()
'''
C = """#include <a.h>

struct point {
    int x;
};

static int
area (struct point *p)
{
    return 1;
}
"""
JAVASCRIPT = """export class Kitchen extends Room {
  cook(meal) {
    return meal;
  }
}
"""


def code(text, language):
    return Document("d", "d", "d", text, "code", language=language, has_lines=True)


def trails(text, language):
    """The innermost heading of every line that is not blank."""
    found = {}
    (chunk,) = Chunker(make_tokenizer(), 512).split(code(text, language))
    for number, line in enumerate(chunk.body.split("\n")):
        if line.strip():
            found[line.strip()] = chunk.trail_at(number)
    return found


def test_a_line_of_python_is_in_the_class_and_functions_that_enclose_it():
    serve = ("class Café(Base)", "def serve( self, guests: int ) -> None")
    found = trails(PYTHON, "python")
    assert found["wait()"] == found["def inner():"] == serve
    assert found["pass"] == (*serve, "def inner()")
    assert found["def serve("] == ("class Café(Base)",)
    for line in ("import os", "TABLES = 3", "class Café(Base):", "async def close(reason):"):
        assert found[line] == ()
    assert found["lock()"] == ("async def close(reason)",)


def test_other_languages_have_definitions_too():
    found = trails(C, "c")
    assert found["int x;"] == ("struct point",)
    assert found["return 1;"] == ("static int area (struct point *p)",)
    assert trails(JAVASCRIPT, "javascript")["return meal;"] == ("class Kitchen extends Room", "cook(meal)")


@pytest.mark.parametrize("document", [code("x = 1\n", "python"), code("x", None), Document("d", "d", "", "x", "text")])
def test_a_text_without_definitions_stays_as_it_is(document):
    assert with_definitions(document) == document


def test_a_long_function_begins_each_of_its_chunks_with_its_signature():
    text = "class Shop:\n    def sell(self):\n" + "        pay('bread', 'butter', 'cheese')\n" * 60
    chunks = list(Chunker(make_tokenizer(), 128).split(code(text, "python")))
    assert len(chunks) > 3
    assert all("class Shop > def sell(self)" in chunk.text[: chunk.body_start] for chunk in chunks[1:])

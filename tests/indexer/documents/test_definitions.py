from conftest import make_tokenizer

from indexer.documents.chunk import Chunker
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


def code(text):
    return Document("d", "d", "d", text, "code", language="python", has_lines=True)


def test_a_line_of_python_is_in_the_class_and_functions_that_enclose_it():
    serve = ("class Café(Base)", "def serve( self, guests: int ) -> None")
    (chunk,) = Chunker(make_tokenizer(), 512).split(code(PYTHON))
    lines = chunk.body.split("\n")
    found = {line.strip(): chunk.trail_at(number) for number, line in enumerate(lines) if line.strip()}
    assert found["wait()"] == found["def inner():"] == serve
    assert found["pass"] == (*serve, "def inner()")
    assert found["def serve("] == ("class Café(Base)",)
    for line in ("import os", "TABLES = 3", "class Café(Base):", "async def close(reason):"):
        assert found[line] == ()
    assert found["lock()"] == ("async def close(reason)",)


def test_a_long_function_begins_each_of_its_chunks_with_its_signature():
    text = "class Shop:\n    def sell(self):\n" + "        pay('bread', 'butter', 'cheese')\n" * 60
    chunks = list(Chunker(make_tokenizer(), 128).split(code(text)))
    assert len(chunks) > 3
    assert all("class Shop > def sell(self)" in chunk.text[: chunk.body_start] for chunk in chunks[1:])

"""The registry of formats: the choice of a format, and a new format, which needs only a class and an entry."""

import sys

import pytest
import shout
from read_bytes import read_bytes

from cdesearch.store.index import Index
from indexer.files.outcome import Skipped, Source
from indexer.files.walk import Selection, find_sources
from indexer.formats import registry
from indexer.formats.registry import FORMATS, format_of, is_known
from indexer.workers import process


def test_every_suffix_can_be_found():
    for one in FORMATS:
        for suffix in one.suffixes:
            assert suffix == suffix.lower() and suffix.startswith(".") and suffix.count(".") == 1
            assert format_of(f"a.b{suffix.upper()}") is one
        for name in one.names:
            assert format_of(name.title()) is one


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", "Markdown"),
        ("CMakeLists.txt", "Code"),
        ("lists.txt", "PlainText"),
        ("README", "PlainText"),
        ("readme.rst", "RestructuredText"),
    ],
)
def test_a_file_is_read_by_the_format_that_lists_its_name_or_else_its_suffix(name, expected):
    assert is_known(name) and type(format_of(name)).__name__ == expected


@pytest.mark.parametrize("name", [".gz", "a.djvu", "script", "man.1", ".md", "a.7z"])
def test_a_file_that_no_format_lists_is_read_as_plain_text(name):
    assert not is_known(name) and type(format_of(name)).__name__ == "PlainText"


@pytest.mark.parametrize("name", ["a.gz", "CHANGES.xz", "manifesto.foo.bz2"])
def test_a_compressed_file_that_no_format_lists_is_read_as_plain_text_when_unpacked(name):
    assert not is_known(name) and type(format_of(name)).__name__ == "Compressed"


def test_a_new_format_is_found_by_the_walk_and_read_by_the_workers(docs, run, monkeypatch):
    (docs / "news.shout").write_text("the title\nthe moon is here")
    (docs / "b.shout").write_bytes(b"the title\0")
    assert Skipped("b.shout", "unknown format .shout") in list(find_sources([docs], docs, Selection(10**6)))
    (docs / "b.shout").unlink()
    monkeypatch.setattr(registry, "FORMATS", shout.FORMATS)
    assert [one.path for one in find_sources([docs], docs, Selection(10**6)) if isinstance(one, Source)][
        -1
    ] == "news.shout"
    data = b"the title\nthe moon is here"
    (document,) = read_bytes("news.shout", data)
    assert (document.title, document.text) == ("THE TITLE", "THE MOON IS HERE")
    # Workers are processes of their own, which import the registry; this one adds the entry in them as well.
    monkeypatch.setattr(process, "COMMAND", (sys.executable, "-P", shout.__file__))
    assert run().skipped == ()
    rows = Index.open(docs).chunks.search().where("path = 'news.shout'").to_list()
    assert [row["text"] for row in rows] == ["THE TITLE\nTHE MOON IS HERE"]

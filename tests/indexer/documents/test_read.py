import gzip
import io
import json

import pytest
from hostile_files import pdf
from read_bytes import read_bytes

from indexer.formats.format import Columns, UnreadableError


def documents(name, data, columns=Columns()):  # noqa: B008 (frozen)
    return list(read_bytes(name, data, columns))


def test_html_loses_its_navigation_and_keeps_its_structure():
    page = b"""<html><head><title>T</title><style>x{}</style></head><body><nav>menu</nav><main><h1>Cats</h1>
    <p>They <b>purr</b>.</p><ul><li><p>one</p></li><li>two</li></ul><pre>a = 1\nb = 2</pre>
    <table><tr><th>k</th><td>v</td></tr></table></main><footer>bye</footer></body></html>"""
    (document,) = documents("a.html", page)
    assert document.title == "Cats" and document.headings[0].title == "Cats"
    for part in ["They purr.", "- one", "a = 1\nb = 2", "k | v"]:
        assert part in document.text
    assert "menu" not in document.text and "bye" not in document.text


def test_a_comment_in_a_fence_is_not_a_heading():
    (document,) = documents("a.md", b"# Real\n\n```\n# not\n```\n\n## Also\n")
    assert [heading.title for heading in document.headings] == ["Real", "Also"]


def test_the_title_is_read_from_front_matter():
    assert documents("a.md", b'---\ntitle: "Named"\n---\n# Other\n')[0].title == "Named"


def test_rst_sections():
    (document,) = documents("a.rst", b"Top\n===\n\ntext\n\nSub\n---\n\nmore\n")
    assert [(heading.level, heading.title) for heading in document.headings] == [(1, "Top"), (2, "Sub")]


def test_the_title_of_a_section_may_begin_with_a_role_a_literal_or_a_substitution():
    text = "|Document| objects\n==================\n\ntext\n\n:mod:`epub` Module\n------------------\n\ntext\n"
    (document,) = documents("a.rst", text.encode())
    assert [one.title for one in document.headings] == ["Document objects", "epub Module"]


def test_the_cells_of_a_notebook_are_read():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n"]},
        {"cell_type": "code", "source": ["x = 1"], "outputs": []},
    ]
    (document,) = documents("a.ipynb", json.dumps({"cells": cells}).encode())
    assert document.title == "Title" and "x = 1" in document.text


def test_docx_headings():
    from docx import Document

    word, stream = Document(), io.BytesIO()
    word.add_heading("Chapter", 1)
    word.add_paragraph("Body text.")
    word.save(stream)
    (document,) = documents("a.docx", stream.getvalue())
    assert document.headings[0].title == "Chapter" and "Body text." in document.text


def test_pdf_pages():
    (document,) = documents("a.pdf", pdf(["first page", "second page"]))
    assert len(document.pages) == 2 and document.text[document.pages[1] :].strip() == "second page"


@pytest.mark.parametrize("compress", [False, True])
def test_records_in_beir_layout(compress):
    data = b'{"_id": "7", "title": "Cats", "text": "purr"}\n\n{"_id": "8", "title": "", "text": "bark"}\n'
    name, data = ("c.jsonl.gz", gzip.compress(data)) if compress else ("c.jsonl", data)
    assert [(d.id, d.title, d.text) for d in documents(name, data)] == [
        (f"{name}#7", "Cats", "purr"),
        (f"{name}#8", "", "bark"),
    ]


def test_the_text_of_a_record_without_text_is_its_title():
    (record,) = documents("c.jsonl", b'{"_id": "7", "title": "Cats", "text": " "}')
    assert (record.title, record.text) == ("Cats", "Cats")


def test_parquet_and_csv():
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.table({"body": ["a", "b"], "name": ["x", "y"]}), stream)
    assert [d.title for d in documents("t.parquet", stream.getvalue(), Columns(title="name"))] == ["x", "y"]
    assert [d.text for d in documents("t.csv", b"id,text\n1,hello\n")] == ["hello"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"ab\0cd", "binary"),
        ("a.txt", "é".encode("latin-1"), "not UTF-8"),
        ("a.js", b"var a=1;" * 200, "minified"),
        ("a.pdf", b"%PDF-1.4 broken", "broken PDF"),
        ("a.docx", b"PK", "broken DOCX"),
        ("a.ipynb", b"{}", "notebook"),
        ("a.jsonl", b"\n{oops\n[1]\n", "none of its 2 lines can be read: line 2 is not JSON"),
        ("a.jsonl", b'{"words": "x"}\n', "no text column among: words"),
        ("a.parquet", b"PAR1", "broken Parquet"),
        ("a.jsonl.gz", b"\x1f\x8bxx", "broken gzip"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n' * 9, mtime=0)[:-9], "broken gzip"),
        ("a.jsonl", b'{"text": "\xff"}\n', "line 1 is not UTF-8 text"),
        ("a.csv", b"id,text\n1,a\n2,\xff\xfe\xfd\xfc\xfb\xfa\n", "not UTF-8"),
    ],
)
def test_an_unreadable_file_has_a_reason(name, data, reason):
    with pytest.raises(UnreadableError, match=reason):
        documents(name, data)


def test_a_wrong_column_is_named_with_the_existing_ones():
    with pytest.raises(UnreadableError, match=r"nope.*--text-column.*words"):
        documents("a.jsonl", b'{"words": "x"}\n', Columns(text="nope"))
    with pytest.raises(UnreadableError, match=r"nope.*--document-column.*text"):
        documents("a.jsonl", b'{"text": "x"}\n', Columns(document="nope"))


def test_utf16_with_a_mark_is_read():
    assert documents("a.txt", "hello".encode("utf-16"))[0].text == "hello"

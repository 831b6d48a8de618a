import gzip
import io
import json

import pytest
from docx import Document
from read_bytes import read_bytes

from indexer.formats.format import Columns, LeftOut, UnreadableError


def documents(name, data, columns=Columns()):  # noqa: B008 (frozen)
    return list(read_bytes(name, data, columns))


def test_the_title_of_markdown_is_in_its_front_matter_and_a_comment_in_a_fence_is_no_heading():
    (document,) = documents("a.md", b'---\ntitle: "Named"\n---\n# Real\n\n```\n# not\n```\n\n## Also\n')
    assert document.title == "Named"
    assert [heading.title for heading in document.headings] == ["Real", "Also"]


def test_underlined_headings_of_markdown_are_headings_on_the_same_lines():
    (document,) = documents("a.md", b"---\ntitle: A\n\ndate: b\n---\n\ntext")
    assert (document.title, document.text.strip()) == ("A", "text")
    others = b" ```\n\nnot\n---\n```\n\n- list\n---\n\n| a | b\n---\n"
    text = b"Tide tables\n===\n\nSpring\n------\ntext\n\n" + others
    (document,) = documents("a.md", text)
    assert [(one.title, one.level) for one in document.headings] == [("Tide tables", 1), ("Spring", 2)]
    assert document.text.count("\n") == text.count(b"\n")


def test_headings_have_the_alternative_texts_of_pictures_and_no_tags():
    text = b'# <img alt="chi" src="chi.svg" width="220" />\n## H<sub>2</sub>O of `List<T>`\n'
    (document,) = documents("a.md", text)
    assert (
        [heading.title for heading in document.headings]
        == [document.title, "H2O of List<T>"]
        == ["chi", "H2O of List<T>"]
    )


def test_the_outputs_of_a_cell_are_read_as_far_as_they_are_text_for_people():
    data = {"image/png": "iVBO", "text/plain": "<Figure size 640x480>", "text/html": "<b>old</b>"}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["10%\r20%\n", "done\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["42"], "text/html": "<td>42</td>"}},
        {"output_type": "display_data", "data": {"text/markdown": ["**bears**"], "text/plain": "<Markdown object>"}},
        {"output_type": "display_data", "data": data},
        {"output_type": "error", "ename": "KeyError", "evalue": "'den'", "traceback": ["\x1b[0;31mlong"]},
        {"output_type": "stream", "text": "honey " * 1000},
    ]
    cells, left_out = [{"cell_type": "code", "source": "x", "outputs": outputs}], LeftOut()
    (document,) = read_bytes("a.ipynb", json.dumps({"cells": cells}).encode(), left_out=left_out)
    _, *outputs, long = document.text.split("\n\n")
    assert outputs == ["```\n20%\ndone\n```", "```\n42\n```", "**bears**", "old", "```\nKeyError: 'den'\n```"]
    assert len(long) < 2100 and long.endswith("```")
    assert str(left_out) == "1 output left out: output of cell 1 is cut after 2,000 characters"


def test_docx_headings():
    word, stream = Document(), io.BytesIO()
    word.add_heading("Chapter", 1)
    word.add_paragraph("Body text.")
    word.save(stream)
    (document,) = documents("a.docx", stream.getvalue())
    assert document.headings[0].title == "Chapter" and "Body text." in document.text


def test_records_in_beir_layout_whose_text_is_their_title_if_they_have_no_other():
    data = b'{"_id": "7", "title": "Cats", "text": " "}\n\n{"_id": "8", "title": "", "text": "bark"}\n'
    found = [(one.id, one.title, one.text) for one in documents("c.jsonl", data)]
    assert found == [("c.jsonl#7", "Cats", "Cats"), ("c.jsonl#8", "", "bark")]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"ab\0\1cd", "binary"),
        ("a.txt", "é".encode("latin-1"), "not UTF-8"),
        ("a.js", b"var a=1;" * 200, "minified"),
        ("a.pdf", b"%PDF-1.4 broken", "broken PDF"),
        ("a.docx", b"PK", "broken DOCX"),
        ("a.docx", b"", "empty file"),
        ("a.pdf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "a pointer of Git LFS"),
        ("a.ipynb", b"{}", "notebook"),
        ("a.canvas", b"[]", "not a canvas"),
        ("a.jsonl", b"\n{oops\n[1\n", "none of its 2 lines can be read: line 2 is not JSON"),
        ("a.parquet", b"PAR1", "broken Parquet"),
        ("a.jsonl.gz", b"\x1f\x8bxx", "broken gzip"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n' * 9, mtime=0)[:-9], "broken gzip"),
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

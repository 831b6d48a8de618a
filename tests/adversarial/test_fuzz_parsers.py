"""Property-based fuzzing of every parser for a few seconds; `make fuzz` does the same for longer, with new files."""

import bz2
import gzip
import json
import lzma
import os
import time

import hostile_files
import pytest
import sample_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parts import pdf
from read_bytes import texts_or_reason

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
quick = settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)

SECONDS = 10.0  # of the processor, for a file of some kilobytes
PAGE = (
    b"<!DOCTYPE html><html><head><meta charset=utf-8><title>Cats</title></head><body><nav>menu</nav><main><h1>Cats</h1>"
    b"<p>They <b>purr</b>.<ul><li>one<li><p>two</ul><pre>a = 1\nb</pre><table><tr><th>k<td><p>A</p><p>B</p></table>"
    b"<form>x<select><option>y</select></form></main></body></html>"
)
RECORDS = b'{"_id": "7::1", "title": "Cats", "text": "purr \\ud83d\\ude00"}\n{"_id": 8, "text": null}\n'
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "a\rb"}, {"data": {"text/plain": "<a>"}}]},
    ]
}
PDF_PARTS = ("Hebrew", "fields on several pages", "lists of choices", "stamps", "embedded files")
CELLS = "".join(hostile_files.docx_cell(text, "<w:gridSpan w:val='2'/><w:vMerge/>") for text in "ab")
PARAGRAPH = "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>Chapter</w:t></w:r></w:p>"

SEEDS = {
    "a.md": b"---\ntitle: T\n---\n# One\n\ntext `code`\n\n```\n# no\n```\n\n## Two ##\n\n- a\n\n| a | b |\n|---|---|\n",
    "a.rst": b"Top\n===\n\ntext\n\nSub\n---\n\n.. code:: python\n\n   x = 1\n",
    "a.txt": "the cat é 漢字\r\nthe dog\n".encode(),
    "latin.txt": "Der Bär läuft über die Straße.\n".encode("cp1252") * 4,
    "wide.txt": "the cat é 漢字\n".encode("utf-16-le"),
    "a.html": PAGE,
    "a.py": b"# coding: latin-1\nclass A:\n    def f(self, x):\n        return {'a': [1, 2]}  # \xe9\n" * 3,
    "a.yaml": b"a: &x\n  - b: 1\n    c: [1, {d: 2}]\n  - |\n    text\n",
    "a.sh": b'for x in $(ls "$y"); do cat <<A\n$x\nA\ndone\n',
    "a.xml": b"<?xml version='1.0' encoding='iso-8859-1'?><a b='c'><!-- d --><e>\xe9</e></a>\n",
    "a.ipynb": json.dumps(NOTEBOOK).encode(),
    "a.canvas": b'{"nodes": [{"text": "# Cats\\npurr"}, {"file": "a.md"}], "edges": [{"label": "b"}]}',
    "a.jsonl": RECORDS,
    "a.jsonl.gz": gzip.compress(RECORDS, mtime=0),
    "a.csv": b'id;text;title\n1;"the; cat";Cats\n2;"a ""b""\nc";\n',
    "a.tsv": b"id\ttext\n1\tthe cat\n",
    "a.parquet": hostile_files.odd_parquet(),
    "a.pdf": hostile_files.pdf(["first page", "second page"]),
    **{part.file: part.data for part in pdf.PARTS if part.name in PDF_PARTS},
    "a.docx": hostile_files.docx(f"{PARAGRAPH}<w:tbl><w:tr>{CELLS}</w:tr><w:tr>{CELLS}</w:tr></w:tbl>"),
    "a.md.gz": gzip.compress(b"# One\n\ntext\n", mtime=0),
    "a.csv.bz2": bz2.compress(b"id,text\n1,the cat\n"),
    "a.txt.xz": lzma.compress(b"the cat\n"),
    "a.csv.zst": hostile_files.zstandard(b"id,text\n1,the cat\n"),
    **sample_files.FILES,
}
PIECES = [b"<", b">", b"\0", b"\xff", b"\xed\xa0\x80", b'"', b"\\ud800", b"[", b"{", b"\r", b"\n", b" ", b"#",
          b"```",
          b"&x;", b"<!ENTITY", b"/*", b"\\begin{", b"\\[", b"$$", b" --> ", b"- ",
          b"<table>", b"</p>", b"&#", b"::", b"9999999999", b"-1", b"\x1b]0;", b"\xef\xbb\xbf",
          b"\xff\xfe"]  # fmt: skip


@st.composite
def mutated_files(draw: st.DrawFn, name: str = "") -> tuple[str, bytes]:
    """A file's name and bytes: a valid file of one of the formats with a few changes."""
    name = name or draw(st.sampled_from(sorted(SEEDS)))
    return name, mutated(draw, SEEDS[name])


def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with up to six flips, cuts, insertions and repeats."""
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 40)))
        change = draw(st.sampled_from(["flip", "cut", "end", "insert", "repeat", "bytes"]))
        if change == "flip" and start < len(data):
            data = data[:start] + bytes([data[start] ^ (1 << draw(st.integers(0, 7)))]) + data[start + 1 :]
        elif change == "cut":
            data = data[:start] + data[stop:]
        elif change == "end":
            data = data[:start]
        elif change == "insert":
            data = data[:start] + draw(st.sampled_from(PIECES)) * draw(st.integers(1, 50)) + data[start:]
        elif change == "repeat":
            data = data[:start] + data[start:stop] * draw(st.integers(2, 60)) + data[stop:]
        else:
            data = data[:start] + draw(st.binary(max_size=20)) + data[start:]
    return data


@st.composite
def mutated_packages(draw: st.DrawFn, name: str = "") -> tuple[str, bytes]:
    """A package that is sound as an archive, in one part of which there are a few changes."""
    name = name or draw(st.sampled_from(sorted(sample_files.PACKAGES)))
    parts = sample_files.PACKAGES[name]
    part = draw(st.sampled_from(sorted(parts)))
    return name, sample_files.zipped({**parts, part: mutated(draw, parts[part])})


raw_files = st.tuples(st.sampled_from(sorted(SEEDS)), st.binary(max_size=400))
TAGS = ["div", "p", "li", "ul", "table", "tr", "td", "pre", "h1", "b", "article", "main", "header", "form", "br", "svg"]
pages = st.lists(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]) | st.text(max_size=5), max_size=60
).map(lambda parts: ("a.html", "".join(parts).encode("utf-8", "replace")))
files = st.one_of(mutated_files(), mutated_files(), mutated_packages(), raw_files, pages)


def check(name: str, data: bytes) -> bool:
    """Read and split a file; returns whether it could be read."""
    started = time.thread_time()
    texts, _ = texts_or_reason(name, data)
    assert time.thread_time() - started < SECONDS
    return texts is not None


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_a_valid_file_is_read_and_a_mutated_one_is_read_or_refused_with_a_reason(name):
    assert check(name, SEEDS[name])
    mutants = [mutated_files(name), mutated_packages(name)] if name in sample_files.PACKAGES else [mutated_files(name)]
    for mutant in mutants:

        @quick
        @given(mutant)
        def check_mutant(file):
            check(*file)

        check_mutant()


@settings(quick, max_examples=EXAMPLES or 150, derandomize=not EXAMPLES)
@given(files)
def test_any_file_is_read_or_refused_with_a_reason(file):
    check(*file)

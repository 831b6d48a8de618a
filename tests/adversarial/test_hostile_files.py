"""Every hostile file is read, or refused with a reason, in bounded time and memory."""

import re
import subprocess
import sys
import time

import hostile_files
import pytest
from conftest import make_tokenizer
from read_bytes import read_bytes

from indexer.documents.chunk import Chunker
from indexer.formats.format import UnreadableError

pytestmark = pytest.mark.slow

SECONDS = 20.0  # of the processor; the slowest take about three
MEGABYTES = 900  # with the libraries, which take some 150
CHUNKER = Chunker(make_tokenizer(), 64)

READABLE = {
    "surrogate.jsonl": "the \ufffd cat",
    "long_number.jsonl": "the cat",
    "odd_types.parquet": "the cat",
    "not_utf8.parquet": "the cat \ufffd",
    "deep_1000.html": "the cat",
    "deep_tables.html": "a",
    "surrogates.html": "the cat",
    "wide_cell.docx": "the cat",
    "no_grid.docx": "cat",
    "broken_core.docx": "the cat sat",
    "surrogate.ipynb": "the \ufffd cat",
    "odd_sources.ipynb": "the cat",
    "arrows.c": "x=>",
    "far.xlsx": "the cat",
    "odd_places.xlsx": "the cat",
    "repeated.ods": "the cat",
    "deep_tables.odt": "x",
    "deep_lists.odt": "x",
    "same_slide.pptx": "the cat",
    "itself.pptx": "A talk",
    "headers.eml": "the cat",
    "odd_charsets.eml": "the cat 6",
    "names.eml": "evil.txt, evil (2).txt, passwd.txt",
    "no_end.mbox": "",
    "deep.rtf": "the cat",
    "codes.rtf": "the cat",
    "unicode.rtf": "the cat",
    "bin.rtf": "the cat",
    "surrogates.json": "the \ufffd cat",
    "number.json": "the cat",
    "elsewhere.xml": "the cat",
    "wrong_encoding.xml": "the cat",
    "attributes.xml": "the cat",
    "laughs.yaml": "cat",
}
REFUSED = {
    "lists.json": "nested deeper than 250 levels",
    "dashes.yaml": "nested deeper than 250 levels",
    "questions.yaml": "nested deeper than 250 levels",
    "tags.xml": "nested too deep",
    "laughs.xml": "entities unpack to too much text",
    "nul.csv": "binary",
    "deep_100000.html": "nested too deep",
    "endless_line.jsonl.gz": "line 1 is longer than 50 MB",
    "nested.jsonl": "nested too deep",
    "many_values.jsonl.gz": "more than 3,000,000 values",
    "huge_field.csv": "line 2",
    "nested_text.parquet": "column text has no text but list",
    "unpacks.docx": "unpacks to more than",
    **{
        f"unpacks.{kind}": "unpacks to more than"
        for kind in ("xlsx", "odt", "pptx", "epub", "txt.gz", "txt.bz2", "txt.xz")
    },
    "unpacks.pdf.gz": "unpacks to more than",
    "a_bomb_inside.xlsx.gz": "unpacks to more than",
    "endless_line.csv.gz": "line 2 is longer than 20 million characters",
    "many_tags.odt": "3,000,000 tags",
    "many_tags.xlsx": "3,000,000 tags",
    **{f"{name}.odt": "declares XML entities" for name in ("laughs", "laughs_utf16", "file", "network")},
    **dict.fromkeys(("laughs.pptx", "laughs.xlsx", "file.epub"), "declares XML entities"),
    "repeated.xlsx": "more than 100,000,000 characters",
    "deep.odt": "broken ODT",
    "outside.epub": "broken EPUB",
    **{
        f"{name}.eml": "more than 100 nested parts"
        for name in ("nested", "nested_messages", "digest", "carriage_returns")
    },
    "parameters.eml": "more than 20,000 characters",
    "encrypted.epub": "encrypted EPUB",
    "unknown_packing.odt": "broken ODT",
    "offset.pptx": "broken PPTX",
    "nested_cells.ipynb": "not a Jupyter notebook",
    "many_values.ipynb": "not a Jupyter notebook",
    "noise.txt": "binary",
    "short_noise.txt": "binary",
    "picture.txt": "binary",
    "no_text.jsonl": r"no text column among: column0.*, \.\.\.",
}


def texts_of(name, data):
    """The texts of the documents; their chunks are made and checked too."""
    texts = []
    for document in read_bytes(name, data):
        texts.append(document.text)
        for text in (document.id, document.title, document.text, document.record or ""):
            text.encode()
        chunks = list(CHUNKER.split(document))
        assert len({chunk.id for chunk in chunks}) == len(chunks)
        for chunk in chunks:
            assert len(chunk.title) + sum(map(len, chunk.trail)) < 5000
            (chunk.text + chunk.document_id).encode()
    return texts


@pytest.mark.parametrize("name", hostile_files.FILES)
def test_a_hostile_file_is_read_or_refused_with_a_reason_in_time(name):
    data = hostile_files.FILES[name]()
    started = time.process_time()
    try:
        texts = texts_of(name, data)
    except UnreadableError as error:
        assert name not in READABLE, str(error)
        assert re.search(REFUSED.get(name, ""), str(error))
        assert "\n" not in str(error) and len(str(error)) < 400
        assert "failed" not in str(error), "no parser fails in an unforeseen way"
    else:
        assert name not in REFUSED
        assert READABLE.get(name, "") in "".join(texts)
    assert time.process_time() - started < SECONDS


BOMBS = [
    "endless_line.jsonl.gz",
    "many_values.jsonl.gz",
    "many_values.ipynb",
    "unpacks.docx",
    "repeated.parquet",
    "wide_cell.docx",
    "many_tags.xlsx",
    "wide.ods",
    "unpacks.txt.xz",
    "repeated.xlsx",
    "headers.eml",
    "newlines.txt",
    "styling.html",
]
MEASURE = """
import re, sys
from pathlib import Path
from indexer.formats.format import UnreadableError
from indexer.formats.registry import read
from indexer.formats.format import Columns, LeftOut, OpenFile
file = Path(sys.argv[1])
try:
    with file.open("rb") as stream:
        for document in read(OpenFile(file.name, stream, Columns(), LeftOut())):
            pass
except UnreadableError:
    pass
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the peak memory of a process")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_does_not_fill_the_memory(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(hostile_files.FILES[name]())
    run = subprocess.run([sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, check=True)
    assert int(run.stdout) / 1024 < MEGABYTES

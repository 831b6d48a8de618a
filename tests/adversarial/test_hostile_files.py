"""Every hostile file is read, or refused with a reason, in bounded time and memory."""

import re
import subprocess
import sys
import time

import hostile_files
import pytest
from read_bytes import texts_or_reason

pytestmark = pytest.mark.slow

SECONDS = 20.0  # of the processor; the slowest take about three
MEGABYTES = 900  # with the libraries, which take some 150

READABLE = {
    "the \ufffd cat": "surrogate.jsonl surrogate.ipynb surrogates.json",
    "the cat \ufffd": "not_utf8.parquet",
    "the cat 6": "odd_charsets.eml",
    "the cat": "odd_types.parquet deep_1000.html surrogates.html wide_cell.docx"
    " far.xlsx repeated.ods same_slide.pptx headers.eml deep.rtf codes.rtf unicode.rtf bin.rtf"
    " elsewhere.xml wrong_encoding.xml attributes.xml many_columns.jsonl bomb.zip bomb.tgz many.tar",
    "a: 1a: 2": "nested_text.parquet",
    "cat": "no_grid.docx laughs.yaml nul.csv",
    "a": "deep_tables.html",
    "x": "deep_tables.odt deep_lists.odt",
    "x=>": "arrows.c",
    "evil.txt, evil (2).txt, passwd.txt": "names.eml",
}
REFUSED = {
    "nested too deep": "tags.xml deep_100000.html nested.jsonl",
    "declares XML entities": "laughs.odt laughs_utf16.odt network.odt laughs.xlsx file.epub",
    "binary": "noise.txt short_noise.txt picture.txt",
    "line 1 is longer than 50 million characters": "endless_line.jsonl.gz",
    "line 2 is longer than 20 million characters": "endless_line.csv.gz",
    "line 2": "huge_field.csv",
    "more than 3,000,000 values": "many_values.jsonl.gz",
    "unpacks to more than": "unpacks.docx unpacks.xlsx unpacks.epub unpacks.txt.gz"
    " unpacks.txt.bz2 unpacks.txt.xz a_bomb_inside.xlsx.gz",
    "3,000,000 tags": "many_tags.xlsx",
    "more than 100,000,000 characters": "repeated.xlsx",
    "more than 100 nested parts": "nested.eml",
    "more than 20,000 characters": "parameters.eml",
    "not a Jupyter notebook": "nested_cells.ipynb many_values.ipynb",
    "broken ODT": "deep.odt",
    "broken file of PowerPoint": "deep.ppt",
    "broken EPUB": "outside.epub",
    "encrypted EPUB": "encrypted.epub",
}
TEXTS = {name: text for text, files in READABLE.items() for name in files.split()}
REASONS = {name: reason for reason, files in REFUSED.items() for name in files.split()}


@pytest.mark.parametrize("name", hostile_files.FILES)
def test_a_hostile_file_is_read_or_refused_with_a_reason_in_time(name):
    data = hostile_files.FILES[name]()
    started = time.process_time()
    texts, reason = texts_or_reason(name, data)
    if texts is None:
        assert name not in TEXTS and re.search(REASONS.get(name, ""), reason), reason
    else:
        assert name not in REASONS and TEXTS.get(name, "") in "".join(texts)
    assert time.process_time() - started < SECONDS


BOMBS = (
    "endless_line.jsonl.gz many_values.jsonl.gz many_values.ipynb unpacks.docx repeated.parquet wide_cell.docx"
    " many_tags.xlsx wide.ods unpacks.txt.xz repeated.xlsx headers.eml newlines.txt styling.html"
)
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
@pytest.mark.parametrize("name", BOMBS.split())
def test_a_bomb_does_not_fill_the_memory(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(hostile_files.FILES[name]())
    run = subprocess.run([sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, check=True)
    assert int(run.stdout) / 1024 < MEGABYTES

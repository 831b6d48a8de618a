"""SIGKILL while marks and the weight of text are written: what was stored before stays, and the same command works."""

import subprocess
import sys

import pytest

from cdesearch.evaluation.labels import GOOD, LABELS, mark, read_labels
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from cdesearch.store.schema import chunk_from_row
from cdesearch.store.text_weight import read_text_weight, write_text_weight
from indexer.build import build
from indexer.settings import Options

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

# The process kills itself when it replaces a file for the given time, before or after that.
START = """
import os, signal, sys
from pathlib import Path
real, calls = Path.replace, []
def replace(self, target):
    calls.append(target)
    is_last = len(calls) == int(sys.argv[2])
    if is_last and sys.argv[3] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    found = real(self, target)
    if is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
Path.replace = replace
from cdesearch.store.index import Index
index = Index.open(Path(sys.argv[1]))
"""
MARK = """
from cdesearch.evaluation.labels import GOOD, mark
from cdesearch.store.schema import chunk_from_row
rows = index.chunks.search().limit(9).to_list()
chunks = sorted((chunk_from_row(row) for row in rows), key=lambda chunk: chunk.id)
mark(index.folder, "a second question", [(chunks[1], GOOD)])
"""
TUNE = """
from cdesearch.store.text_weight import write_text_weight
write_text_weight(index.folder, 18.0)
"""


@pytest.fixture
def folder(docs, tiny_checkpoint):
    return build([docs], Options(model=tiny_checkpoint), Silent()).folder


def killed(program, folder, number, moment):
    run = subprocess.run([sys.executable, "-c", START + program, folder, str(number), moment], check=False, timeout=60)
    assert run.returncode == -9, "it ended before"


def first_chunks(folder):
    rows = Index(folder).chunks.search().limit(9).to_list()
    return sorted((chunk_from_row(row) for row in rows), key=lambda chunk: chunk.id)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_marks_are_stored_whole_or_not_at_all(folder, number, moment):
    first, second, *_ = first_chunks(folder)
    mark(folder, "a first question", [(first, GOOD)])
    before = read_labels(folder).grades
    killed(MARK, folder, number, moment)
    is_stored = (number, moment) == (3, "after")
    found = read_labels(folder)
    assert len(found.grades) == 1 + is_stored and before.items() <= found.grades.items()
    assert {passage for _, passage in found.grades} <= found.passages.keys()
    mark(folder, "a second question", [(second, GOOD)])
    assert len(read_labels(folder).grades) == 2
    names = {file.name for file in (folder / LABELS).rglob("*") if file.is_file()}
    assert names == {"corpus.jsonl", "queries.jsonl", "test.tsv", "lock"}


@pytest.mark.parametrize(("moment", "weight"), [("before", 4.0), ("after", 18.0)])
def test_a_weight_of_text_is_the_old_or_the_new_one(folder, moment, weight):
    write_text_weight(folder, 4.0)
    killed(TUNE, folder, 1, moment)
    assert read_text_weight(folder) == weight
    write_text_weight(folder, 9.0)
    assert read_text_weight(folder) == 9.0
    assert [file.name for file in folder.iterdir() if "tuning" in file.name] == ["tuning.json"]

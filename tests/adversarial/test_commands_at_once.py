"""Commands that run while others change the index: each sees one whole generation."""

import json
import subprocess
import sys

import pytest
from process import run_cdesearch

from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index, read_newest
from indexer.build import build
from indexer.health import doctor
from indexer.health.doctor import diagnose
from indexer.settings import Options

pytestmark = pytest.mark.slow

# Edit one file and update, again and again, with a new context every third time.
UPDATES = """
import itertools, sys
from pathlib import Path
from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options
docs, model = map(Path, sys.argv[1:])
if __name__ == "__main__":
    for number in itertools.count():
        (docs / "00.md").write_text(f"the moon {number} and the river " + "x" * number)
        build([docs], Options(model=model, refresh_context=number % 3 == 2), Silent())
        print(number, flush=True)
"""


@pytest.fixture
def writer(docs, tiny_checkpoint):
    """Begin a process that updates the index of `docs` without end; all are killed after the test."""
    begun = []

    def begin():
        command = [sys.executable, "-c", UPDATES, str(docs), str(tiny_checkpoint)]
        begun.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert begun[-1].stdout.readline() == "0\n"
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        process.stdout.close()


def test_every_command_sees_a_whole_index_while_it_is_updated_and_updates_are_killed(docs, tiny_checkpoint, writer):
    build([docs], Options(model=tiny_checkpoint), Silent())
    queries = [["query", "house", "--mode", mode, "--model", tiny_checkpoint] for mode in ("hybrid", "dense", "text")]
    for commands in (queries, [["status"], ["status", "--files"], ["doctor"]]):
        process = writer()
        for command in commands:
            run = run_cdesearch(*command, "--index", docs, "--json", cwd=docs)
            found = json.loads(run.stdout)
            sizes = {name: len(value) for name, value in found.items() if name in ("hits", "files")}
            assert sizes == {"query": {"hits": 10}, "status": {"files": 12}, "doctor": {}}[command[0]] or (
                command == ["status"] and found["documents"] == 12
            )
            assert command[0] != "doctor" or found["sound"]
        assert process.poll() is None, "the index was updated all the time"
        process.kill()
        process.wait()
    build([docs], Options(model=tiny_checkpoint), Silent())
    assert diagnose(Index.open(docs).folder).is_sound


def updated(docs, checkpoint, times):
    """Update the index so often that the generation that was live is removed."""
    for _ in range(times):
        file = docs / "00.md"
        file.write_text(file.read_text() + " moon")
        build([docs], Options(model=checkpoint), Silent())


@pytest.mark.parametrize("opened_again", [1, 2])
def test_a_reader_whose_generation_is_removed_reads_the_newest_one(docs, tiny_checkpoint, opened_again):
    """It happens again while the reader opens the newest one, which is then removed as well."""
    build([docs], Options(model=tiny_checkpoint), Silent())
    first, seen = Index.open(docs), []

    def read(index):
        if len(seen) < opened_again:
            updated(docs, tiny_checkpoint, 2)
        seen.append(index.generation.name)
        return index.documents.count_rows()

    assert read_newest(first, read) == 12
    assert len(seen) == len(set(seen)) == opened_again + 1
    with Searcher(first) as searcher:
        seen.clear()
        assert searcher.read(read) == 12
        assert len(seen) == len(set(seen)) == opened_again + 1


def test_an_examination_whose_generation_is_removed_begins_again(docs, tiny_checkpoint, monkeypatch):
    build([docs], Options(model=tiny_checkpoint), Silent())
    updated(docs, tiny_checkpoint, 1)
    real, updates = doctor.check_tables, iter([2])

    def check_tables(generation):
        if times := next(updates, 0):
            updated(docs, tiny_checkpoint, times)
        real(generation)

    monkeypatch.setattr(doctor, "check_tables", check_tables)
    found = diagnose(Index.open(docs).folder)
    assert found.is_sound and found.live.generation == Index.open(docs).generation
    assert all(one.is_sound for one in found.others)

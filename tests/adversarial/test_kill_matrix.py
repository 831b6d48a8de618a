"""SIGKILL at every named stage: the old index answers, and the next run makes what an undisturbed one makes."""

import os
import shutil
import subprocess
import sys

import pytest
from built import assert_same, contents
from command import picture

from cdesearch.errors import IndexNotFoundError
from cdesearch.index import Index
from cdesearch.search import Searcher
from indexer.build import build
from indexer.progress import Silent
from indexer.settings import Options

FIRST = ["Looking for files", "Reading", "Counting words", "Embedding the context", "Embedding", "Writing"]
LATER = ["Looking for files", "Reading", "Embedding", "Writing"]
LAST = "Indexing words"  # common to both


class Heard(Silent):
    """Keeps the names of the stages."""

    def __init__(self):
        self.names = []

    def stage(self, name, total):
        if total != 0:
            self.names.append(name)
        return super().stage(name, total)


@pytest.fixture
def update(docs, tiny_checkpoint):
    def update():
        heard = Heard()
        build([docs], Options(model=tiny_checkpoint, context_size=4), heard)
        return heard.names

    return update


def change(docs):
    (docs / "03.md").write_text("# Changed\n\nthe moon is not in the house")
    (docs / "04.md").unlink()
    (docs / "new.md").write_text("# New\n\nthe river and the stone")


def undisturbed(docs, update, *, twice):
    """What runs that nobody kills make of the same files."""
    kept = shutil.copytree(docs, docs.parent / "kept")
    update()
    if twice:
        change(docs)
        update()
    made = contents(docs)
    shutil.rmtree(docs)
    kept.rename(docs)
    return made


def command(docs, model):
    return [sys.executable, "-m", "cdesearch", "index", str(docs), "--model", str(model), "--context-size", "4"]


def kill_at(stage, docs, model):
    """Kill a run when it says that the stage begins."""
    with subprocess.Popen(command(docs, model), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().rpartition(":")[0] == stage or line.rstrip() == stage:
                process.kill()
                break
        process.stderr.read()
    assert process.returncode == -9, f"the run ended before {stage}"


def test_the_matrix_names_every_stage(docs, update):
    assert update() == [*FIRST, LAST]
    change(docs)
    assert update() == [*LATER, LAST]


@pytest.mark.parametrize("stage", [*FIRST, LAST])
def test_a_first_run_killed_at(stage, docs, update, tiny_checkpoint):
    expected = undisturbed(docs, update, twice=False)
    kill_at(stage, docs, tiny_checkpoint)
    with pytest.raises(IndexNotFoundError):
        Index.open(docs)
    update()
    assert_same(expected, contents(docs))
    assert_tidy(docs)


@pytest.mark.parametrize("stage", [*LATER, LAST])
def test_an_update_killed_at(stage, docs, update, tiny_checkpoint):
    expected = undisturbed(docs, update, twice=True)
    update()
    before = contents(docs)
    change(docs)
    kill_at(stage, docs, tiny_checkpoint)
    assert_same(before, contents(docs))
    assert Searcher(Index.open(docs)).search("moon")
    update()
    assert_same(expected, contents(docs))
    assert_tidy(docs)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: no kill in a system call")
@pytest.mark.parametrize("call", ["rename", "mkdir"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_update_killed_in_a_system_call(call, number, docs, update, tiny_checkpoint):
    expected = undisturbed(docs, update, twice=True)
    update()
    change(docs)
    killed = ["strace", "-f", "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
    run = subprocess.run([*killed, *command(docs, tiny_checkpoint)], capture_output=True, check=False, timeout=300)
    assert run.returncode in (-9, 137, 0), run.stderr
    assert Searcher(Index.open(docs)).search("moon")
    update()
    assert_same(expected, contents(docs))
    assert_tidy(docs)


def assert_tidy(docs):
    """No more than the live generation and the one before, and nothing half-made beside them."""
    generations = list((docs / ".cdesearch" / "generations").iterdir())
    assert len(generations) <= 2
    names = {os.path.basename(name) for name in picture(docs / ".cdesearch")}  # noqa: PTH119 (names)
    assert not names & {"plan.json", "spool.arrow", "CURRENT.new", "own_vectors.lance", "context.bare.safetensors"}

"""SIGKILL at every stage, in system calls and at random moments.

After a kill the old index answers, or the new one. The next run has the result of an undisturbed one.
"""

import itertools
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from built import assert_same, contents, make_index, write_documents, write_files
from command import cdesearch, kill_in, needs_strace, picture
from damage import overwrite

from cdesearch.errors import IndexNotFoundError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.health.doctor import diagnose, repair

pytestmark = pytest.mark.slow

LAST = "Indexing words"
FIRST = ["Looking for files", "Reading", "Counting words", "Embedding the context", "Embedding", "Writing", LAST]
LATER = ["Looking for files", "Reading", "Embedding", "Writing", LAST]
UNFINISHED = {
    *("plan.json", "spool.arrow", "CURRENT.new"),
    *("context.sample.safetensors", "context.fitted.safetensors"),
}
CDESEARCH = (sys.executable, "-m", "cdesearch")
ROUNDS = 16  # kills at random moments

# A build in stages.
RUN = """
import sys
from pathlib import Path
from cdesearch.progress import Silent
from indexer.build import build
from indexer.embedding import spool, stages
from indexer.settings import Options
spool.WINDOW = 20
stages.STAGED_FROM, stages.SECONDS, stages.COST_SHARE = 1, 0.0, float("inf")
print("ready", flush=True)
build([Path(sys.argv[1])], Options(model=Path(sys.argv[2]), wait=True), Silent())
"""


def update(docs, model):
    """One run without a kill. A worker that a killed run was about to start has the lock for a moment."""
    make_index([docs], model=model, context_size=4, wait=True)


def change(docs):
    (docs / "03.md").write_text("# Changed\n\nthe moon is not in the house")
    (docs / "04.md").unlink()
    (docs / "new.md").write_text("# New\n\nthe river and the stone")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, tiny_checkpoint):
    """Documents with an index, its contents, and its contents after an update; both without a kill."""
    docs = write_documents(tmp_path_factory.mktemp("undisturbed") / "docs")
    update(docs, tiny_checkpoint)
    first = contents(docs)
    kept = shutil.copytree(docs, docs.parent / "kept")
    change(docs)
    update(docs, tiny_checkpoint)
    return kept, first, contents(docs)


@pytest.fixture
def indexed(undisturbed, tmp_path):
    """Documents that have changed since their first run."""
    docs = shutil.copytree(undisturbed[0], tmp_path / "indexed" / "docs")
    change(docs)
    return docs


def index_command(docs, model):
    return [*CDESEARCH, "index", str(docs), "--model", str(model), "--context-size", "4"]


def kill_at(stage, docs, model):
    """Kill a run when it reports the beginning of a stage."""
    with subprocess.Popen(index_command(docs, model), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().rpartition(":")[0] == stage or line.rstrip() == stage:
                process.kill()
                break
        process.stderr.read()
    assert process.returncode == -9, f"the run ended before {stage}"


def assert_completed(docs, model, wanted):
    """The next run has this result, and leaves the live generation, the one before, and nothing incomplete."""
    update(docs, model)
    assert_same(wanted, contents(docs))
    assert len(list((docs / ".cdesearch" / "generations").iterdir())) <= 2
    assert not UNFINISHED & {Path(name).name for name in picture(docs / ".cdesearch")}


@pytest.mark.parametrize("stage", FIRST)
def test_a_first_run_that_was_killed_is_completed_by_the_next_one(stage, docs, undisturbed, tiny_checkpoint):
    kill_at(stage, docs, tiny_checkpoint)
    with pytest.raises(IndexNotFoundError):
        Index.open(docs)
    assert_completed(docs, tiny_checkpoint, undisturbed[1])


CALLS = [
    pytest.param(*call, marks=needs_strace) for call in itertools.product(["linkat", "rename", "mkdir"], [1, 2, 3])
]


@pytest.mark.parametrize(("moment", "number"), [*((stage, 0) for stage in LATER), *CALLS])
def test_an_update_that_was_killed_is_completed_by_the_next_one(moment, number, indexed, undisturbed, tiny_checkpoint):
    if number:
        kill_in(moment, number, *index_command(indexed, tiny_checkpoint))
    else:
        kill_at(moment, indexed, tiny_checkpoint)
        assert_same(undisturbed[1], contents(indexed))
    assert Searcher(Index.open(indexed), model=tiny_checkpoint).search("moon")
    assert_completed(indexed, tiny_checkpoint, undisturbed[2])


@needs_strace
@pytest.mark.parametrize(("call", "number"), [("linkat", 1), ("linkat", 2), ("rename", 3), ("rename", 5)])
def test_clear_removes_all_of_an_index_whose_build_was_killed(call, number, docs, tiny_checkpoint):
    kill_in(call, number, *index_command(docs, tiny_checkpoint))
    assert not (docs / ".cdesearch" / "CURRENT").exists()
    (generation,) = (docs / ".cdesearch" / "generations").iterdir()
    write_files(generation, {"tmp/.tmp1/part_0.lance": ""})  # as Lance leaves it while it makes a graph of vectors
    cdesearch("clear", docs, "--yes", cwd=docs)
    assert not (docs / ".cdesearch").exists()


@needs_strace
@pytest.mark.parametrize(("call", "number"), [("unlink", 1), ("unlink", 2), ("unlink", 4), ("rmdir", 1)])
def test_a_removal_that_was_killed_is_completed_by_the_next_one_or_the_index_is_built_again(
    call, number, indexed, undisturbed, tiny_checkpoint
):
    kill_in(call, number, *CDESEARCH, "clear", indexed, "--yes")
    assert (indexed / ".cdesearch").exists()
    copy = shutil.copytree(indexed, indexed.parent / "copy" / "docs")
    cdesearch("clear", copy, "--yes", cwd=copy)
    assert not (copy / ".cdesearch").exists()
    update(indexed, tiny_checkpoint)
    assert contents(indexed)[0].equals(undisturbed[2][0])


@needs_strace
@pytest.mark.parametrize(("call", "number"), [*itertools.product(["rename", "unlink"], [1, 3]), ("fsync", 20)])
def test_a_repair_that_was_killed_keeps_a_whole_generation(call, number, sound):
    overwrite(sound.path("manifest.json"))
    kill_in(call, number, *CDESEARCH, "doctor", "--repair", "--index", sound.index)
    found = diagnose(sound.index)
    assert [one for one in (found.live, *found.others) if one.is_sound]
    repair(sound.index, False, Silent(), lambda _: None)
    assert diagnose(sound.index).is_sound and sound.ask()


# Kills at random moments.


def start(*command):
    """A process, when it has printed `ready`."""
    command = [sys.executable, *map(str, command)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    while "ready\n" not in lines:
        lines.append(process.stdout.readline())
        assert lines[-1], "".join(lines)  # an empty line means that the process has ended
    return process


def moments(docs, model):
    """Random numbers of seconds within the time that an undisturbed run takes on a copy."""
    copy = shutil.copytree(docs, docs.parent / "timed" / "docs")
    process = start("-c", RUN, copy, model)
    started = time.monotonic()
    assert process.wait(120) == 0, process.communicate()[0]
    process.stdout.close()
    taken = time.monotonic() - started
    shutil.rmtree(copy.parent)
    numbers = random.Random(0)
    return [numbers.uniform(0, taken) for _ in range(ROUNDS)]


def assert_equal(docs, other):
    (rows, vectors), (wanted_rows, wanted) = contents(docs), contents(other)
    assert rows.drop_columns("place").equals(wanted_rows.drop_columns("place"))
    np.testing.assert_allclose(vectors, wanted, atol=1e-5)


@pytest.fixture
def whole(docs, tmp_path, tiny_checkpoint):
    """A copy of the documents, indexed without a kill."""
    copy = shutil.copytree(docs, tmp_path / "whole" / "docs")
    make_index([copy], model=tiny_checkpoint)
    return copy


def test_a_build_in_stages_that_is_killed_again_and_again_is_completed(docs, whole, tiny_checkpoint):
    for number, moment in enumerate(moments(docs, tiny_checkpoint)):
        process = start("-c", RUN, docs, tiny_checkpoint)
        time.sleep(moment)
        process.kill()
        process.communicate()
        try:
            with Searcher(Index.open(docs)) as searcher:
                assert searcher.search("house", 5, "text").hits
            found = diagnose(docs / ".cdesearch")
            assert found.live is not None and found.live.is_sound, found
        except IndexNotFoundError:
            assert not (docs / ".cdesearch" / "CURRENT").exists()
        if number % 4 == 3:
            shutil.rmtree(docs / ".cdesearch", ignore_errors=True)  # so that all stages have a chance
    make_index([docs], model=tiny_checkpoint)
    assert Index.open(docs).manifest.is_complete
    assert_equal(docs, whole)

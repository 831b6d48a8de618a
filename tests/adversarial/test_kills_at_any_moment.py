"""SIGKILL at 50 moments of `watch`, of builds in stages and of a refresh of the context, each at a random time.

After every kill the index answers and is sound. After a last run without a kill, it equals that of an undisturbed run.
"""

import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from built import contents, write_documents
from process import kill_in, needs_strace

from cdesearch.errors import IndexNotFoundError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.health.doctor import diagnose
from indexer.settings import Options

pytestmark = pytest.mark.slow

WATCHES, BUILDS, REFRESHES = 18, 16, 16  # kills
PATIENCE = 120  # seconds

RUN = """
import sys
from pathlib import Path
from cdesearch.progress import Silent
from indexer.build import build
from indexer.embedding import spool, stages
from indexer.settings import Options
spool.WINDOW = 20
stages.STAGED_FROM, stages.SECONDS, stages.COST_SHARE = 1, 0.0, float("inf")
options = Options(model=Path(sys.argv[2]), wait=True, refresh_context=sys.argv[3] == "refresh")
print("ready", flush=True)
build([Path(sys.argv[1])], options, Silent())
"""


def start(*command, ready=("ready",)):
    """A process, when it has printed a line with one of the words `ready`."""
    command = [sys.executable, *map(str, command)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    while not any(word in line for line in lines for word in ready):
        lines.append(process.stdout.readline())
        assert lines[-1], "".join(lines)  # an empty line means that the process has ended
    return process


def kill(process):
    process.kill()
    process.communicate()


def seconds_of_a_run(docs, model, kind):
    """How long the work of an undisturbed run takes, on a copy."""
    copy = shutil.copytree(docs, docs.parent / "timed" / "docs")
    process = start("-c", RUN, copy, model, kind)
    started = time.monotonic()
    assert process.wait(PATIENCE) == 0, process.communicate()[0]
    process.stdout.close()
    taken = time.monotonic() - started
    shutil.rmtree(copy.parent)
    return taken


def assert_answers(docs):
    """Assert that the live generation is sound and answers queries."""
    found = diagnose(docs / ".cdesearch")
    assert found.live is not None and found.live.is_sound, found
    with Searcher(Index.open(docs)) as searcher:
        assert searcher.search("house", 5, "text").hits


def texts(docs):
    rows, vectors = contents(docs)
    return rows.drop_columns("place"), vectors


def assert_equal(docs, other, *, tolerance=1e-5):
    (rows, vectors), (wanted_rows, wanted) = texts(docs), texts(other)
    assert rows.equals(wanted_rows)
    np.testing.assert_allclose(vectors, wanted, atol=tolerance)


@pytest.fixture
def undisturbed(docs, tmp_path, tiny_checkpoint):
    """A copy of the documents, indexed without a kill."""
    copy = shutil.copytree(docs, tmp_path / "undisturbed" / "docs")
    build([copy], Options(model=tiny_checkpoint), Silent())
    return copy


def test_a_build_in_stages_that_is_killed_again_and_again_is_completed(docs, undisturbed, tiny_checkpoint):
    numbers, whole = random.Random(0), seconds_of_a_run(docs, tiny_checkpoint, "build")
    for number in range(BUILDS):
        process = start("-c", RUN, docs, tiny_checkpoint, "build")
        time.sleep(numbers.uniform(0, whole))
        kill(process)
        try:
            assert_answers(docs)
        except IndexNotFoundError:
            assert not (docs / ".cdesearch" / "CURRENT").exists()
        if number % 4 == 3:
            shutil.rmtree(docs / ".cdesearch", ignore_errors=True)  # so that all stages have a chance
    build([docs], Options(model=tiny_checkpoint), Silent())
    assert Index.open(docs).manifest.is_complete
    assert_equal(docs, undisturbed)


@needs_strace
@pytest.mark.parametrize("number", [4, 5, 7, 9, 10, 12])
def test_a_build_that_is_killed_while_a_stage_becomes_the_live_generation_is_completed(
    docs, undisturbed, tiny_checkpoint, number
):
    """The files that are renamed are those of the context, the checksums, CURRENT and the list of generations."""
    kill_in("rename", number, sys.executable, "-c", RUN, docs, tiny_checkpoint, "build")
    if (docs / ".cdesearch" / "CURRENT").exists():
        assert_answers(docs)
    build([docs], Options(model=tiny_checkpoint), Silent())
    assert Index.open(docs).manifest.is_complete and len(list((docs / ".cdesearch" / "generations").iterdir())) <= 2
    assert_equal(docs, undisturbed)


def test_a_refresh_that_is_killed_again_and_again_leaves_the_old_context_or_the_new_one(
    docs, undisturbed, tiny_checkpoint
):
    before = Index.open(undisturbed).manifest.context_fingerprint
    for folder in (docs, undisturbed):
        if folder is docs:
            build([folder], Options(model=tiny_checkpoint), Silent())
        for number in range(12, 40):
            (folder / f"{number}.md").write_text(f"# More {number}\n\nthe engine and the stone {number}")
        build([folder], Options(model=tiny_checkpoint), Silent())
    build([undisturbed], Options(model=tiny_checkpoint, refresh_context=True), Silent())
    after = Index.open(undisturbed).manifest.context_fingerprint
    numbers, whole = random.Random(1), seconds_of_a_run(docs, tiny_checkpoint, "refresh")
    seen = set()
    for _ in range(REFRESHES):
        process = start("-c", RUN, docs, tiny_checkpoint, "refresh")
        time.sleep(numbers.uniform(0, whole))
        kill(process)
        assert_answers(docs)
        seen.add(Index.open(docs).manifest.context_fingerprint)
    assert seen <= {before, after} and before != after
    build([docs], Options(model=tiny_checkpoint, refresh_context=True), Silent())
    assert Index.open(docs).manifest.context_fingerprint == after
    assert_equal(docs, undisturbed)


@pytest.mark.parametrize("ready", [("Looking for files",), ("Updated", "Nothing has changed")], ids=["first", "later"])
def test_a_watch_that_is_killed_again_and_again_loses_no_change(docs, tmp_path, tiny_checkpoint, ready):
    """The first update of `watch` is killed, or a later one of a file that is saved while it watches."""
    build([docs], Options(model=tiny_checkpoint), Silent())
    numbers = random.Random(2)
    for number in range(WATCHES // 2):
        (docs / f"before {number}.md").write_text(f"a change before the watch {number}")
        process = start("-m", "cdesearch", "watch", "--index", docs / ".cdesearch", ready=ready)
        (docs / f"new {number}.md").write_text(f"the river and the moon {number}")
        (docs / f"{number % 12:02}.md").write_text(f"# Changed\n\nthe house has changed {number}")
        time.sleep(numbers.uniform(0, 1.5))
        kill(process)
        assert_answers(docs)
        if "Updated" in ready:
            assert f"before {number}.md" in Index.open(docs).documents.to_arrow()["path"].to_pylist()
    build([docs], Options(), Silent())
    build([docs], Options(index=tmp_path / "fresh", model=tiny_checkpoint), Silent())
    assert texts(docs)[0].equals(texts(tmp_path / "fresh")[0])


@pytest.fixture
def docs(tmp_path):
    return write_documents(tmp_path / "docs")

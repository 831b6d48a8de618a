"""SIGKILL at every stage: the old index answers, and the next run has the result of an undisturbed one."""

import itertools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built import assert_same, contents, write_documents
from command import cdesearch, picture
from damage import overwrite
from process import kill_in, needs_strace

from cdesearch.errors import IndexNotFoundError
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

pytestmark = pytest.mark.slow

FIRST = ["Looking for files", "Reading", "Counting words", "Embedding the context", "Embedding", "Writing"]
LATER = ["Looking for files", "Reading", "Embedding", "Writing"]
LAST = "Indexing words"  # common to both


class Heard(Silent):
    """Records the names of the stages."""

    def __init__(self):
        self.names = []

    def stage(self, name, total):
        if total != 0:
            self.names.append(name)
        return super().stage(name, total)


def update(docs, model):
    """One run without a kill; returns its stages."""
    heard = Heard()
    build([docs], Options(model=model, context_size=4), heard)
    return heard.names


def change(docs):
    (docs / "03.md").write_text("# Changed\n\nthe moon is not in the house")
    (docs / "04.md").unlink()
    (docs / "new.md").write_text("# New\n\nthe river and the stone")


@dataclass(frozen=True)
class Undisturbed:
    """The results of a first run and of an update without a kill."""

    folder: Path  # documents and index after the first run
    first: Any  # contents of the index after the first run
    second: Any  # contents of the index after the update
    stages: tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, tiny_checkpoint):
    docs = tmp_path_factory.mktemp("undisturbed") / "docs"
    write_documents(docs)
    stages = update(docs, tiny_checkpoint)
    first = contents(docs)
    kept = shutil.copytree(docs, docs.parent / "kept")
    change(docs)
    later_stages = update(docs, tiny_checkpoint)
    return Undisturbed(kept, first, contents(docs), (stages, later_stages))


@pytest.fixture
def indexed(undisturbed, tmp_path):
    """Documents that have changed since their first run."""
    docs = shutil.copytree(undisturbed.folder, tmp_path / "docs")
    change(docs)
    return docs


def command(docs, model):
    return [sys.executable, "-m", "cdesearch", "index", str(docs), "--model", str(model), "--context-size", "4"]


def kill_at(stage, docs, model):
    """Kill a run when it reports the beginning of a stage."""
    with subprocess.Popen(command(docs, model), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().rpartition(":")[0] == stage or line.rstrip() == stage:
                process.kill()
                break
        process.stderr.read()
    assert process.returncode == -9, f"the run ended before {stage}"


def test_the_matrix_names_every_stage(undisturbed):
    assert undisturbed.stages == ([*FIRST, LAST], [*LATER, LAST])


@pytest.mark.parametrize("stage", [*FIRST, LAST])
def test_a_first_run_that_was_killed_is_completed_by_the_next_one(stage, docs, undisturbed, tiny_checkpoint):
    kill_at(stage, docs, tiny_checkpoint)
    with pytest.raises(IndexNotFoundError):
        Index.open(docs)
    update(docs, tiny_checkpoint)
    assert_same(undisturbed.first, contents(docs))
    assert_tidy(docs)


@pytest.mark.parametrize("stage", [*LATER, LAST])
def test_an_update_that_was_killed_keeps_the_old_index_and_is_completed_by_the_next_one(
    stage, indexed, undisturbed, tiny_checkpoint
):
    kill_at(stage, indexed, tiny_checkpoint)
    assert_same(undisturbed.first, contents(indexed))
    assert Searcher(Index.open(indexed), model=tiny_checkpoint).search("moon")
    update(indexed, tiny_checkpoint)
    assert_same(undisturbed.second, contents(indexed))
    assert_tidy(indexed)


@needs_strace
@pytest.mark.parametrize("call", ["rename", "mkdir"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_update_that_was_killed_in_a_system_call_is_completed_by_the_next_one(
    call, number, indexed, undisturbed, tiny_checkpoint
):
    kill_in(call, number, *command(indexed, tiny_checkpoint))
    assert Searcher(Index.open(indexed), model=tiny_checkpoint).search("moon")
    update(indexed, tiny_checkpoint)
    assert_same(undisturbed.second, contents(indexed))
    assert_tidy(indexed)


@needs_strace
@pytest.mark.parametrize(("call", "number"), [("linkat", 1), ("linkat", 2), ("rename", 3), ("rename", 5)])
def test_clear_removes_all_of_an_index_whose_build_was_killed(call, number, docs, tiny_checkpoint):
    kill_in(call, number, *command(docs, tiny_checkpoint))
    assert not (docs / ".cdesearch" / "CURRENT").exists()
    (generation,) = (docs / ".cdesearch" / "generations").iterdir()
    (generation / "tmp" / ".tmp1").mkdir(parents=True)  # as Lance leaves it while it makes a graph of vectors
    (generation / "tmp" / ".tmp1" / "part_0.lance").write_text("")
    cdesearch("clear", docs, "--yes", cwd=docs)
    assert not (docs / ".cdesearch").exists()


@needs_strace
@pytest.mark.parametrize(("call", "number"), [("unlink", 1), ("unlink", 2), ("unlink", 4), ("rmdir", 1), ("rename", 1)])
def test_a_removal_that_was_killed_is_completed_by_the_next_one_or_the_index_is_built_again(
    call, number, indexed, undisturbed, tiny_checkpoint
):
    kill_in(call, number, sys.executable, "-m", "cdesearch", "clear", str(indexed), "--yes")
    assert (indexed / ".cdesearch").exists()
    copy = shutil.copytree(indexed, indexed.parent / "copy" / "docs")
    cdesearch("clear", copy, "--yes", cwd=copy)
    assert not (copy / ".cdesearch").exists()
    update(indexed, tiny_checkpoint)
    assert contents(indexed)[0].equals(undisturbed.second[0])


@needs_strace
@pytest.mark.parametrize(("call", "number"), [("rename", 1), ("rename", 2), ("rename", 3), ("linkat", 1), ("fsync", 9)])
def test_a_source_whose_removal_was_killed_is_removed_or_stays_with_all_of_its_documents(
    call, number, docs, tmp_path, tiny_checkpoint
):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "m.md").write_text("the river and the stone")
    options = Options(model=tiny_checkpoint, index=tmp_path / "index")
    build([docs, tmp_path / "more"], options, Silent())
    before = contents(tmp_path / "index")
    removal = ["sources", "remove", str(tmp_path / "more"), "--index", str(tmp_path / "index")]
    kill_in(call, number, sys.executable, "-m", "cdesearch", *removal)
    assert diagnose(tmp_path / "index").live.is_sound
    if tmp_path / "more" in Index(tmp_path / "index").sources:
        assert_same(contents(tmp_path / "index"), before)
        cdesearch(*removal, cwd=tmp_path)
    files = {file.name for file in docs.iterdir()}  # paths are relative to the source that is left
    assert {Path(path).parts[0] for path in contents(tmp_path / "index")[0]["path"].to_pylist()} == files
    assert len(list((tmp_path / "index" / "generations").iterdir())) <= 2


@needs_strace
@pytest.mark.parametrize(("call", "number"), [*itertools.product(["rename", "unlink"], [1, 3]), ("fsync", 20)])
def test_a_repair_killed_in_a_system_call_keeps_a_whole_generation(call, number, sound):
    overwrite(sound.path("manifest.json"))
    kill_in(call, number, sys.executable, "-m", "cdesearch", "doctor", "--repair", "--index", str(sound.index))
    found = diagnose(sound.index)
    assert [one for one in (found.live, *found.others) if one.is_sound]
    repair(sound.index, False, Silent(), lambda _: None)
    assert diagnose(sound.index).is_sound and sound.ask()


def assert_tidy(docs):
    """Assert that there are only the live generation and the one before, and nothing incomplete."""
    generations = list((docs / ".cdesearch" / "generations").iterdir())
    assert len(generations) <= 2
    names = {os.path.basename(name) for name in picture(docs / ".cdesearch")}  # noqa: PTH119 (names)
    assert not names & {
        "plan.json",
        "spool.arrow",
        "CURRENT.new",
        "own_vectors.lance",
        "context.sample.safetensors",
        "context.fitted.safetensors",
    }

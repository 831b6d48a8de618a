"""A run goes on only with the pairs, the models and the number of processes with which it was started."""

import json
import shutil

import numpy as np
import pytest
from conftest import make_checkpoint

from cdesearch.errors import InputError, StorageError
from cdesearch.progress import Silent
from trainer.recipe import load_recipe
from trainer.run.log import read_log
from trainer.run.parts import write_parts
from trainer.run.sources import Source, check_sources
from trainer.train import train

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


def write_machine(folder, tiny_checkpoint, name="pairs"):
    """A folder with pairs and a start, as one of two machines has it."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=4)) for _ in range(40)]
    rows = [{"query": f"{text.split()[0]} {number}", "document": text} for number, text in enumerate(texts)]
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if not (folder / "start").exists():
        shutil.copytree(tiny_checkpoint, folder / "start")
    return rows


def settings_of(folder, out, steps, **more):
    return {
        "data.pairs": json.dumps([str(folder)]),
        "model.start": str(folder / "start"),
        "run.out": str(out),
        "learning.steps": str(steps),
    } | more


@pytest.fixture
def started(tmp_path, tiny_checkpoint):
    """The recipe and the folder of a machine, and the folder of a run of two steps there."""
    here = tmp_path / "here"
    write_machine(here, tiny_checkpoint)
    (tmp_path / "recipe.toml").write_text(
        """
        [data]
        pairs = []
        held_out = 0.0
        [model]
        start = ""
        [batches]
        size = 8
        context_size = 8
        filter = "none"
        [learning]
        micro_batch = 8
        [run]
        out = ""
        """
    )
    recipe_file, out = tmp_path / "recipe.toml", tmp_path / "out"
    train(load_recipe(recipe_file, settings_of(here, out, 1)), Silent())
    return recipe_file, here, out


def resume(recipe_file, machine, out, **more):
    train(load_recipe(recipe_file, settings_of(machine, out, 2, **more)), Silent(), resume=True)


def test_pairs_that_have_changed_are_named_and_refused(started):
    recipe_file, here, out = started
    file = here / "pairs.jsonl"
    file.write_text(file.read_text().replace("moon", "engine"))
    with pytest.raises(InputError, match=rf"{file} has other contents than when {out} was started\. Restore"):
        resume(recipe_file, here, out)


def test_a_start_that_has_changed_is_named_and_refused(started):
    recipe_file, here, out = started
    shutil.rmtree(here / "start")
    make_checkpoint(here / "start", gate=0.25)
    with pytest.raises(InputError, match=rf"{here / 'start'} has other contents than when {out} was started"):
        resume(recipe_file, here, out)


def test_a_domain_that_is_new_or_missing_is_named_and_refused(started, tiny_checkpoint):
    recipe_file, here, out = started
    write_machine(here, tiny_checkpoint, "other")
    with pytest.raises(InputError, match=r"was started without the pairs of other, .*other\.jsonl"):
        resume(recipe_file, here, out)
    with pytest.raises(InputError, match=r"was started with the pairs of gone, and the recipe no longer has it"):
        check_sources(out, {"pairs of gone": "0"}, {})


def test_a_run_goes_on_on_another_machine_where_the_paths_differ(started, tmp_path):
    recipe_file, here, out = started
    there = tmp_path / "there"
    here.rename(there)
    resume(recipe_file, there, out)
    assert [line["step"] for line in read_log(out) if "loss" in line] == [1, 2]


@pytest.mark.slow
def test_another_number_of_processes_is_refused_only_if_each_has_its_own_batches(started, tmp_path, monkeypatch):
    recipe_file, here, _ = started
    for kind in ("own", "share"):
        out = tmp_path / kind
        changes = {"batches.processes": kind}
        train(load_recipe(recipe_file, settings_of(here, out, 1, **changes)), Silent())
        monkeypatch.setattr("trainer.run.checkpoint.world", lambda: 2)
        if kind == "own":
            with pytest.raises(
                InputError, match=r"was started with another number of processes, 1, and .*--nproc-per-node 1"
            ):
                resume(recipe_file, here, out, **changes)
        else:
            resume(recipe_file, here, out, **changes)
        monkeypatch.undo()


def test_a_finished_command_that_is_repeated_changes_nothing(started):
    recipe_file, here, out = started
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="holds an earlier run, which would be lost"):
        train(load_recipe(recipe_file, settings_of(here, out, 1)), Silent())
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_state_that_does_not_record_its_start_is_damaged(tmp_path):
    with pytest.raises(StorageError, match=r"The state in .* is damaged: it does not record the start\. Copy it again"):
        check_sources(tmp_path, {"pairs of a": "0"}, {"start": Source(tmp_path, "0")})


def test_files_that_were_not_joined_are_named_with_the_command(started, tiny_checkpoint, tmp_path, monkeypatch):
    recipe_file, here, _ = started
    monkeypatch.setattr("trainer.run.parts.PART", 400)
    for name in ("pairs.jsonl", "start/model.safetensors"):
        file = here / name
        content = file.read_bytes()
        write_parts(file, memoryview(content))
        with pytest.raises(InputError, match=rf"{file} is in parts .*python -m trainer\.parcel join {file.parent}`"):
            train(load_recipe(recipe_file, settings_of(here, tmp_path / "new", 1)), Silent())
        file.write_bytes(content)

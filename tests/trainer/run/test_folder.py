import subprocess
import sys

import pytest
from tiny_run import make_run, recipe_of

from cdesearch.errors import InputError, StorageError
from trainer.recipe import check_recipe
from trainer.replacing import UNFINISHED
from trainer.run import folder as run_folder
from trainer.run.checkpoint import STATE, RunProgress, save_state
from trainer.run.folder import (
    claim_folder,
    kept_data,
    locked,
    next_step,
    refuse_earlier_run,
    refuse_overwritten_models,
)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_and_an_empty_folder_are_marked_and_then_accepted_with_any_contents(tmp_path):
    for folder in (tmp_path / "new" / "run", tmp_path / "empty"):
        if folder.name == "empty":
            folder.mkdir()
        claim_folder(folder)
        assert (folder / "RUN").read_bytes() == b"cdesearch run\n"
        (folder / "best").mkdir()
        claim_folder(folder)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["best/thesis.txt", "log.jsonl", ".hidden"])
def test_a_folder_with_files_of_somebody_else_is_refused_and_left_alone(tmp_path, name, resume):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"is not empty and not the folder of a run\. Set run\.out to a new or empty"):
        claim_folder(tmp_path, resume=resume)
    assert contents(tmp_path) == before


def test_a_marker_file_with_other_contents_is_refused(tmp_path):
    (tmp_path / "RUN").write_text("forest run")
    with pytest.raises(InputError, match="is not the marker"):
        claim_folder(tmp_path)


def test_the_run_of_an_older_version_is_marked_when_it_resumes(tmp_path):
    modules, optimizer = make_run()
    save_state(tmp_path, recipe_of(tmp_path, small=False), RunProgress(step=3), modules, optimizer)
    with pytest.raises(InputError, match="not the folder of a run"):
        claim_folder(tmp_path)
    claim_folder(tmp_path, resume=True)
    claim_folder(tmp_path)


def test_a_folder_whose_state_cannot_be_read_is_not_marked_as_that_of_a_run(tmp_path):
    (tmp_path / STATE).write_bytes(b"the state of another program")
    with pytest.raises(StorageError, match=r"state\.pt cannot be read"):
        claim_folder(tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == [STATE]


@pytest.mark.parametrize(
    "name", ["checkpoint", f"best{UNFINISHED}", "log.jsonl", "run.svg", "data", "tensorboard", f"state.pt{UNFINISHED}"]
)
def test_links_at_the_places_that_a_run_replaces_are_refused(tmp_path, name):
    claim_folder(tmp_path / "run")
    (tmp_path / "run" / name).symlink_to(tmp_path)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        claim_folder(tmp_path / "run")


def test_a_file_is_not_the_folder_of_a_run(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be the folder of a run"):
            claim_folder(folder)


@pytest.mark.parametrize("name", ["data/a-0/query.utf8", "checkpoint/config.json", "tensorboard/events"])
def test_links_below_the_entries_of_a_run_are_refused(tmp_path, name):
    claim_folder(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        claim_folder(tmp_path)


def test_a_checkpoint_of_a_run_with_files_of_somebody_else_is_refused(tmp_path):
    claim_folder(tmp_path)
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"thesis\.txt is not part of a checkpoint, and would be deleted"):
        claim_folder(tmp_path)


def recipe_with(folder, **run):
    values = {
        "data": {"pairs": ["p"]},
        "model": {"start": run.pop("start", "s")},
        "run": {"out": folder / "out", **run},
    }
    return check_recipe(values, folder)


@pytest.mark.parametrize("name", [STATE, "checkpoint", "best"])
def test_a_new_run_does_not_replace_an_earlier_one(tmp_path, name):
    recipe = recipe_with(tmp_path)
    refuse_earlier_run(recipe.run)
    claim_folder(recipe.run.out)
    refuse_earlier_run(recipe.run)  # of a run that was stopped before its first state, nothing is lost
    (recipe.run.out / name).mkdir()
    with pytest.raises(InputError, match=r"out holds an earlier run, which would be lost\. Add --resume .*remove the"):
        refuse_earlier_run(recipe.run)


def test_prepared_data_is_not_written_among_the_files_of_another_run(tmp_path):
    other = tmp_path / "other"
    claim_folder(other)
    refuse_earlier_run(recipe_with(tmp_path, work=other / "data").run)
    with pytest.raises(InputError, match=r"run\.work is .*other, the folder of another run\. Set run\.work to .*data"):
        refuse_earlier_run(recipe_with(tmp_path, work=other).run)


@pytest.mark.parametrize("key", ["start", "surrogate"])
@pytest.mark.parametrize("name", ["out", "out/checkpoint", "out/../out/best", "link"])
def test_a_model_that_the_run_would_overwrite_is_refused(tmp_path, key, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out" / "best")
    with pytest.raises(InputError, match=rf"{key} is .*{name}, which the run would overwrite\. Set another run\.out"):
        refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / name}))
    refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / "another"}))


def test_a_stopped_preparation_says_what_is_kept(tmp_path):
    run = recipe_with(tmp_path).run
    assert kept_data(run) == "Nothing is kept."
    run.data_folder.mkdir(parents=True)
    assert kept_data(run) == f"The data prepared so far is kept in {tmp_path / 'out' / 'data'}."


def test_a_folder_to_which_another_process_writes_is_refused_until_that_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "LOCK_SECONDS", 0.1)
    program = (
        "import sys, time; from pathlib import Path; from trainer.run.folder import locked\n"
        "with locked(Path(sys.argv[1]), 'run.out'): print('locked', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "locked\n"
    message = rf"Another process is writing to {tmp_path}\. Wait until it has ended, or set another run\.work\."
    with pytest.raises(InputError, match=message), locked(tmp_path, "run.work"):
        pass
    other.kill()
    other.communicate()
    with locked(tmp_path, "run.work"):
        pass


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="lock is a symbolic link"), locked(tmp_path, "run.work"):
        pass
    assert (tmp_path / "victim").read_text() == "mine"


def test_the_next_step_after_training_says_what_a_checkpoint_without_graphs_needs(tmp_path):
    assert next_step(tmp_path).endswith("(it has no ONNX graphs, so it needs torch: pip install 'cdesearch[torch]')")
    (tmp_path / "onnx").mkdir()
    assert next_step(tmp_path) == f"Next: cdesearch index FOLDER --model {tmp_path}"

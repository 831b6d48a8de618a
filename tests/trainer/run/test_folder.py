import subprocess
import sys

import pytest

from cdesearch.errors import InputError
from trainer.recipe import check_recipe
from trainer.run import folder as run_folder
from trainer.run.folder import claim_folder, locked, next_step, refuse_earlier_run, refuse_overwritten_models, stopped
from trainer.run.state import STATE


def test_a_new_and_an_empty_folder_are_marked_and_then_accepted_with_any_contents(tmp_path):
    for folder in (tmp_path / "new" / "run", tmp_path / "empty"):
        if folder.name == "empty":
            folder.mkdir()
        claim_folder(folder)
        (folder / "best").mkdir()
        claim_folder(folder)


@pytest.mark.parametrize("name", ["best/thesis.txt", "log.jsonl", ".hidden"])
def test_a_folder_with_files_of_somebody_else_is_refused_and_left_alone(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=r"is not empty and not the folder of a run\. Set run\.out to a new or empty"):
        claim_folder(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]


def test_a_file_is_not_the_folder_of_a_run(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be the folder of a run"):
            claim_folder(folder)


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
    refuse_earlier_run(recipe.run.out)
    claim_folder(recipe.run.out)
    refuse_earlier_run(recipe.run.out)  # of a run that was stopped before its first state, nothing is lost
    (recipe.run.out / name).mkdir()
    with pytest.raises(InputError, match=r"out holds an earlier run, which would be lost\. Add --resume .*remove the"):
        refuse_earlier_run(recipe.run.out)


@pytest.mark.parametrize("key", ["start", "surrogate"])
@pytest.mark.parametrize("name", ["out", "out/checkpoint", "out/../out/best", "link"])
def test_a_model_that_the_run_would_overwrite_is_refused(tmp_path, key, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out" / "best")
    with pytest.raises(InputError, match=rf"{key} is .*{name}, which the run would overwrite\. Set another run\.out"):
        refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / name}))
    refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / "another"}))


def test_a_stopped_run_says_what_is_kept(tmp_path):
    assert stopped(tmp_path).startswith("Stopped before a state was saved. The same command begins again")
    (tmp_path / STATE).touch()
    assert "--resume continues" in stopped(tmp_path)


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


def test_the_next_step_after_training_says_what_a_checkpoint_without_graphs_needs(tmp_path):
    assert next_step(tmp_path).endswith("(it has no ONNX graphs, so it needs torch: pip install 'cdesearch[torch]')")
    (tmp_path / "onnx").mkdir()
    assert next_step(tmp_path) == f"Next: cdesearch index FOLDER --model {tmp_path}"

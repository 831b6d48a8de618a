"""`python -m trainer` with only torch, numpy, tokenizers, safetensors and msgspec installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hidden_libraries import run_module_without

from cdesearch.errors import CdesearchError
from cdesearch.progress import Silent
from trainer.__main__ import main
from trainer.recipe import load_recipe
from trainer.run.folder import read_log
from trainer.train import train

ROOT = Path(__file__).resolve().parents[2]
ABSENT = (
    "bm25s click charset_normalizer docx faiss flash_attn huggingface_hub joblib lance lancedb"
    " numba onnx onnxruntime pandas pyarrow pydantic pypdfium2 rich scipy selectolax semantic_text_splitter"
    " sentence_transformers sklearn Stemmer tensorboard transformers tree_sitter typer"
)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def train_bare(*arguments):
    return run_module_without(ABSENT, "trainer", *arguments, cwd=".")


def steps_of(folder):
    return [line["step"] for line in read_log(folder) if "loss" in line]


@pytest.mark.slow
def test_data_that_was_prepared_elsewhere_is_trained_on_with_torch_alone(small_recipe, tmp_path):
    out = tmp_path / "out"
    first = train_bare(small_recipe, "--resume")
    assert first.returncode == 2 and "faiss is not installed" in first.stderr and "has no state yet" in first.stderr
    recipe = load_recipe(small_recipe, {"learning.steps": "0"})
    train(recipe, Silent())
    last = train_bare(small_recipe, "--resume")
    assert last.returncode == 0, last.stderr
    assert steps_of(out) == [1, 2, 3]
    assert (out / "checkpoint" / "model.safetensors").exists() and not (out / "checkpoint" / "onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["trainer"], ["cdesearch", "train"]])
def test_sigterm_during_preparation_ends_with_143_and_says_what_is_kept(small_recipe, command):
    out = small_recipe.parent / "out"
    program = (
        "import runpy, sys, time; import trainer.data.material as material\n"
        "material.surrogate_vectors = lambda *_: (print('waiting', flush=True), time.sleep(60))\n"
        f"sys.argv = {[*command, str(small_recipe)]!r}; runpy.run_module({command[0]!r}, run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waiting\n"
    process.terminate()
    last = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 143
    assert last.startswith("Stopped before a state was saved.")
    assert not list(out.rglob("*unfinished*"))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"data.held_out_domains": '["pears"]'}, "data.held_out_domains names pears, .* Name some of: pairs."),
        ({"run.surrogate": "nowhere"}, "nowhere is not a checkpoint: there is no such folder"),
    ],
)
def test_what_is_needed_after_the_preparation_is_checked_before_it(small_recipe, settings, named):
    recipe = load_recipe(small_recipe, settings)
    with pytest.raises(CdesearchError, match=named):
        train(recipe, Silent())
    assert not recipe.run.out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RECIPE", "--set", "run.out"], "--set run.out does not set a key of a section. Write --set section.key=v"),
        (["RECIPE", "--sett", "run.out=x"], "unrecognized arguments: --sett run.out=x"),
        (["nothing.toml"], "There is no file nothing.toml."),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(small_recipe, capsys, arguments, message):
    assert main([str(small_recipe) if word == "RECIPE" else word for word in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message.lower() in line.lower()


def test_a_defect_has_exit_code_70_and_ctrl_c_130(small_recipe, capsys, monkeypatch):
    for error, code in ((ZeroDivisionError("oh"), 70), (KeyboardInterrupt(), 130)):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr("trainer.train.train", fail)
        assert main([str(small_recipe)]) == code
        (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Stopped before a state was saved.")


def test_the_gpu_recipe_trains_at_tiny_size(small_recipe, tmp_path, tiny_checkpoint):
    smaller = {
        "data.pairs": f'["{tmp_path}/pairs.jsonl"]',
        "data.keep_out": "[]",
        "data.groups": "{}",
        "data.held_out": "0.2",
        "model.start": str(tiny_checkpoint),
        "batches.size": "8",
        "batches.cluster_size": "8",
        "learning.steps": "1",
        "run.out": str(tmp_path / "gpu"),
    }
    recipe = load_recipe(ROOT / "trainer" / "recipes" / "gpu.toml", smaller)
    assert (recipe.batches.context_size, recipe.learning.precision, recipe.model.context) == (512, "bf16", "both")
    train(recipe, Silent())
    assert steps_of(recipe.run.out) == [1]

"""`python -m trainer` with only torch, numpy, tokenizers and safetensors installed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hidden_libraries import run_module_without
from safetensors.numpy import load_file

from cdesearch.errors import CdesearchError
from cdesearch.progress import Silent
from trainer.__main__ import main
from trainer.recipe import load_recipe
from trainer.run.log import read_log
from trainer.run.time_limit import OutOfTime, TimeLimit
from trainer.train import train

ROOT = Path(__file__).resolve().parents[2]
ABSENT = (
    "bm25s click charset_normalizer docx faiss flash_attn huggingface_hub joblib lance lancedb matplotlib"
    " numba onnx onnxruntime pandas pyarrow pydantic pypdfium2 rich scipy selectolax semantic_text_splitter"
    " sentence_transformers sklearn Stemmer tensorboard transformers tree_sitter_language_pack typer"
)
# These finders hide the absent libraries: `import` fails and `find_spec` returns None, as on a bare machine.
WITHOUT = """
import sys
absent, finders = set(sys.argv.pop(1).split()), list(sys.meta_path)

class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            return None
        return next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)

sys.meta_path[:] = [Bare()]
from trainer.__main__ import main
code = main(sys.argv[1:])
assert not absent & {name.partition(".")[0] for name in sys.modules}
sys.exit(code)
"""
WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


@pytest.fixture
def recipe_file(tmp_path, tiny_checkpoint):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=4)) for _ in range(60)]
    rows = [{"query": f"{text.split()[0]} {number}", "document": text} for number, text in enumerate(texts)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{tmp_path}/pairs.jsonl"]
        held_out = 0.2
        [model]
        start = "{tiny_checkpoint}"
        [batches]
        size = 8
        context_size = 8
        cluster_size = 8
        [learning]
        steps = 3
        warmup = 1
        micro_batch = 4
        [run]
        out = "{tmp_path}/out"
        surrogate = "{tiny_checkpoint}"
        """
    )
    return tmp_path / "recipe.toml"


def train_bare(*arguments):
    command = [sys.executable, "-P", "-c", WITHOUT, ABSENT, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def steps_of(folder):
    return [line["step"] for line in read_log(folder) if "loss" in line]


@pytest.mark.slow
def test_three_steps_in_two_slots_need_torch_alone(recipe_file):
    out = recipe_file.parent / "out"
    first = train_bare(recipe_file, "--minutes", "0.0001", "--resume")
    assert first.returncode == 0, first.stderr
    assert first.stderr.splitlines()[-1].startswith(
        "The time is over (--minutes 0.0001). To continue: python -m trainer"
    )
    assert "faiss-cpu or faiss-gpu-cu12 is not installed: clustering by torch." in first.stderr.splitlines()
    assert "onnxruntime is not installed: the surrogate runs on torch." in first.stderr.splitlines()
    assert "has no state yet" in first.stderr
    assert not (out / "checkpoint").exists()
    last = train_bare(recipe_file, "--resume")
    assert last.returncode == 0, last.stderr
    assert steps_of(out) == [1, 2, 3]
    assert (out / "checkpoint" / "model.safetensors").exists() and not (out / "checkpoint" / "onnx").exists()


@pytest.mark.slow
def test_a_bundle_is_written_without_other_libraries(recipe_file, tmp_path):
    done = run_module_without(ABSENT, "trainer.bundle", recipe_file, tmp_path / "bundle", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    names = {path.relative_to(tmp_path / "bundle").as_posix() for path in (tmp_path / "bundle").rglob("*.*")}
    assert {"pairs.jsonl.gz", "start/model.safetensors", "surrogate/model.safetensors"} <= names


@pytest.mark.slow
def test_a_library_without_replacement_is_named_in_one_line(recipe_file):
    recipe_file.with_name("pairs.parquet").write_bytes(b"")
    done = train_bare(recipe_file, f'--set=data.pairs=["{recipe_file.parent}/pairs.parquet"]')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: pyarrow is not installed") and "pairs.parquet needs it" in line


class AfterOneStep(TimeLimit):
    """A slot that ends as soon as one more step is logged."""

    def __init__(self, out):
        self._out, self._before = out, self._n_steps(out)

    def check(self):
        if self._n_steps(self._out) > self._before:
            raise OutOfTime

    def _n_steps(self, out):
        return len(steps_of(out)) if (out / "log.jsonl").exists() else 0


@pytest.mark.slow
def test_a_run_in_slots_of_one_step_ends_like_one_without_slots(recipe_file, tmp_path):
    settings = {"model.dropout": "0.1", "run.work": str(tmp_path / "work")}
    whole = load_recipe(recipe_file, {**settings, "run.out": str(tmp_path / "whole")})
    parts = load_recipe(recipe_file, {**settings, "run.out": str(tmp_path / "parts")})
    train(whole, Silent())
    for step in (1, 2, 3):
        with pytest.raises(OutOfTime):
            train(parts, Silent(), resume=step > 1, limit=AfterOneStep(parts.run.out))
        assert steps_of(parts.run.out)[-1] == step
    folders = train(parts, Silent(), resume=True, limit=TimeLimit(time.monotonic() + 600)), whole.run.out / "checkpoint"
    ended, expected = (load_file(folder / "model.safetensors") for folder in folders)
    assert all(np.array_equal(ended[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_sigterm_saves_the_state_and_the_command_to_continue_works(recipe_file):
    out = recipe_file.parent / "out"
    command = [sys.executable, "-m", "trainer", str(recipe_file), "--resume"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    endless = [*command, "--set=learning.steps=100000", "--set=run.watch_every=100000"]
    process = subprocess.Popen(endless, env=environment, stderr=subprocess.PIPE, text=True)
    while not (out / "log.jsonl").exists() or len(steps_of(out)) < 2:
        time.sleep(0.02)
        assert process.poll() is None
    process.terminate()
    last = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 143
    assert last.startswith("Stopped. To continue: python -m trainer") and "--resume" in last
    n_steps = steps_of(out)[-1]
    more = [*command, f"--set=learning.steps={n_steps + 1}", "--set=run.watch_every=100000"]
    subprocess.run(more, env=environment, check=True, capture_output=True)
    assert steps_of(out)[-1] == n_steps + 1
    assert (out / "checkpoint" / "model.safetensors").exists() and (out / "best" / "model.safetensors").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["trainer"], ["cdesearch", "train"]])
def test_sigterm_during_preparation_ends_with_143_and_says_what_is_kept(recipe_file, command):
    out = recipe_file.parent / "out"
    program = (
        "import runpy, sys, time; import trainer.data.material as material\n"
        "material.surrogate_vectors = lambda *_: (print('waiting', flush=True), time.sleep(60))\n"
        f"sys.argv = {[*command, str(recipe_file)]!r}; runpy.run_module({command[0]!r}, run_name='__main__')"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waiting\n"
    process.terminate()
    last = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 143
    assert last.startswith(f"Stopped before a state was saved. The data prepared so far is kept in {out / 'data'}.")
    assert not list(out.rglob("*unfinished*"))


def test_a_slot_that_stores_nothing_new_asks_for_more_minutes(recipe_file, capsys, monkeypatch):
    def fail(recipe, *_, **__):
        (recipe.run.out / "data").mkdir(parents=True, exist_ok=True)
        (recipe.run.out / "data" / "one.npz").touch()
        raise OutOfTime

    monkeypatch.setattr("trainer.rounds.train", fail)
    command = [str(recipe_file), "--resume", "--minutes", "2"]
    assert main(command) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"The time is over (--minutes 2). To continue: python -m trainer {' '.join(command)}"
    assert main(command) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert "nothing new is stored: the next block needs more minutes" in last and last.endswith("--minutes 4")


def test_under_torchrun_the_command_to_continue_has_as_many_processes(recipe_file, capsys, monkeypatch):
    monkeypatch.setattr("trainer.rounds.train", Mock(side_effect=KeyboardInterrupt))
    for name, value in {"WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert main([str(recipe_file)]) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"To begin again: torchrun --nproc-per-node 3 -m trainer {recipe_file}")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"run.evaluate": '["nowhere"]'}, "run.evaluate needs nowhere/corpus.jsonl"),
        ({"data.held_out_domains": '["pears"]'}, "data.held_out_domains names pears, .* Name some of: pairs."),
        ({"run.surrogate": "nowhere"}, "nowhere is not a checkpoint: there is no such folder"),
    ],
)
def test_what_is_needed_after_the_preparation_is_checked_before_it(recipe_file, settings, named):
    recipe = load_recipe(recipe_file, settings)
    with pytest.raises(CdesearchError, match=named):
        train(recipe, Silent())
    assert not recipe.run.out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: recipe"),
        (["RECIPE", "--minutes", "soon"], "argument --minutes: soon is not a number above 0"),
        (["RECIPE", "--minutes", "0"], "argument --minutes: 0 is not a number above 0"),
        (["RECIPE", "--set", "run.out"], "--set run.out has no value. Write --set section.key=value."),
        (["RECIPE", "--set", "model=3"], "--set model=3 does not name a key of a section."),
        (["RECIPE", "--sett", "run.out=x"], "unrecognized arguments: --sett run.out=x"),
        (["RECIPE", "--set", "run.seeed=1"], "did you mean seed"),
        (["nothing.toml"], "There is no file nothing.toml."),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(recipe_file, capsys, arguments, message):
    assert main([str(recipe_file) if word == "RECIPE" else word for word in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message.lower() in line.lower()


def test_a_defect_has_exit_code_70_and_ctrl_c_130(recipe_file, capsys, monkeypatch):
    for error, code in ((ZeroDivisionError("oh"), 70), (KeyboardInterrupt(), 130)):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr("trainer.rounds.train", fail)
        assert main([str(recipe_file)]) == code
        (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"Stopped before a state was saved. Nothing is kept. To begin again: python -m trainer {recipe_file}"
    )

    def save_and_stop(recipe, *_, **__):
        recipe.run.out.mkdir()
        (recipe.run.out / "state.pt").write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer.rounds.train", save_and_stop)
    assert main([str(recipe_file)]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"Stopped. To continue: python -m trainer {recipe_file} --resume"


def test_the_gpu_recipe_trains_at_tiny_size(recipe_file, tmp_path, tiny_checkpoint):
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
    batches, learning = recipe.batches, recipe.learning
    assert (batches.context_size, batches.max_tokens, learning.precision, learning.micro_batch) == (
        512,
        128,
        "bf16",
        512,
    )
    assert recipe.model.gate == 0 and recipe.model.contextual and batches.context == "cluster"
    train(recipe, Silent())
    assert steps_of(recipe.run.out) == [1]

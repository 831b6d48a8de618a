import pytest
from hidden_libraries import run_code_without, run_module_without


@pytest.mark.parametrize(
    "command",
    [
        ["cdesearch", "train", "recipe.toml"],
        ["trainer.start"],
        ["trainer.merge", "x", "y=1"],
        ["cdesearch", "mine", "x", "y", "--model", "z"],
        ["trainer.bundle", "x", "y"],
    ],
    ids=" ".join,
)
def test_without_torch_a_command_names_the_extra_in_one_line(command, tmp_path):
    recipe = '[data]\npairs = ["p"]\n[model]\nstart = "s"\n[run]\nout = "o"\n'
    (tmp_path / "recipe.toml").write_text(recipe)
    run = run_module_without("torch", *command, cwd=tmp_path)
    expected = "error: torch is not installed, and this command needs it. Run `pip install 'cdesearch[train]'`.\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)


@pytest.mark.parametrize("program", ["merge", "start", "bundle"])
@pytest.mark.parametrize("absent", ["torch", "torch numpy tokenizers safetensors onnxruntime lancedb pyarrow"])
def test_without_torch_help_shows_how_a_program_is_called_and_what_it_needs(program, absent, tmp_path):
    run = run_module_without(absent, f"trainer.{program}", "--help", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert f"\n    python -m trainer.{program} " in run.stdout
    last = run.stdout.splitlines()[-1]
    assert last == "torch is not installed, and this command needs it. Run `pip install 'cdesearch[train]'`."


@pytest.mark.parametrize("program", ["merge", "start", "bundle"])
def test_with_torch_alone_a_program_names_what_it_needs_in_one_line(program, tmp_path):
    run = run_module_without("numpy tokenizers safetensors", f"trainer.{program}", "x", "y=1", cwd=tmp_path)
    remedy = "Run `pip install torch numpy tokenizers safetensors`."
    expected = f"error: numpy is not installed, and this command needs it. {remedy}\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)


def test_with_torch_alone_training_shows_no_warning_beside_the_line(tmp_path):
    (tmp_path / "recipe.toml").write_text('[data]\npairs = ["p"]\n[model]\nstart = "s"\n[run]\nout = "o"\n')
    run = run_module_without("numpy tokenizers safetensors", "trainer", "recipe.toml", cwd=tmp_path)
    expected = "error: numpy is not installed. Run `pip install torch numpy tokenizers safetensors`.\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)


def test_a_recipe_that_does_not_exist_is_reported_before_a_missing_torch(tmp_path):
    run = run_module_without("torch", "cdesearch", "train", "nope.toml", cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith("error: There is no file nope.toml.")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["argparse", "cdesearch.progress", "torch"])
def test_ctrl_c_while_a_module_is_imported_ends_training_without_a_traceback(module, tmp_path):
    (tmp_path / "recipe.toml").write_text('[data]\npairs = ["p"]\n[model]\nstart = "s"\n[run]\nout = "o"\n')
    program = (
        "import os, runpy, signal\nmodule = sys.argv.pop()\nclass Watch:\n    def find_spec(self, name, *_):\n"
        "        if name == module: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Watch())\nsys.argv[:] = ['trainer', 'recipe.toml']\n"
        "runpy.run_module('trainer', run_name='__main__', alter_sys=True)\n"
    )
    run = run_code_without("", program, module, cwd=tmp_path)
    assert run.returncode == 130 and "Traceback" not in run.stderr

import pytest
from hidden_libraries import run_module_without


@pytest.mark.parametrize(
    "command",
    [
        ["cdesearch", "train", "nosuch.toml"],
        ["trainer.start"],
        ["trainer.merge", "--help"],
        ["trainer.mine", "x", "y"],
        ["trainer.bundle", "x", "y"],
    ],
    ids=" ".join,
)
def test_without_torch_a_command_names_the_extra_in_one_line(command, tmp_path):
    run = run_module_without("torch", *command, cwd=tmp_path)
    expected = "error: torch is not installed, and training needs it. Run `pip install 'cdesearch[train]'`.\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)

"""The packages that messages name are those that pip can install."""

import re
import tomllib
from pathlib import Path

import pytest
from hidden_libraries import run_module_without

from trainer.reporting import PACKAGES, reported

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


LISTED = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]


@pytest.mark.parametrize("module", ["faiss", "flash_attn", "pyarrow"])
def test_a_missing_module_is_named_as_pip_knows_it(capsys, module):
    def fail(_):
        raise ModuleNotFoundError(name=module)

    assert reported(fail)() == 2
    package = re.search(r"`pip install ([^`]*)`", capsys.readouterr().err).group(1)
    assert package == PACKAGES.get(module, module) and package in {re.split(r"[\[<>=;]", name)[0] for name in LISTED}


@pytest.mark.parametrize("program", ["trainer", "trainer.merge", "cdesearch train"])
def test_what_all_training_needs_is_named_in_one_line(tmp_path, program):
    module, *words = program.split()
    run = run_module_without("torch", module, *words, "recipe.toml", cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert run.stderr.startswith("error: torch is not installed, and this command needs it. Run `pip install 'cde")

"""A checkout that is not installed knows which commands it lacks."""

import tomllib
from pathlib import Path

import pytest
from hidden_libraries import run_code_without

from cdesearch.cli.command_names import OWN, REGISTERED, check_installed, command_names, meant_command
from cdesearch.errors import InputError

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
NOT_INSTALLED = (
    "import importlib.metadata, runpy, sys\n"
    "importlib.metadata.entry_points = lambda **_: ()\n"
    "runpy.run_module('cdesearch', run_name='__main__', alter_sys=True)\n"
)


def test_the_commands_that_are_expected_are_those_that_the_project_registers():
    assert REGISTERED.keys() == PROJECT["entry-points"]["cdesearch.commands"].keys()
    extras = {extra.strip("[]") for extra in REGISTERED.values()} - {""}
    assert extras <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_a_command_that_is_not_registered_names_what_to_install(name):
    check_installed([name], command_names())
    with pytest.raises(InputError, match=rf"the command {name} needs it\. Run `pip install '\.") as error:
        check_installed([name, "words"], OWN)
    assert f"'.{REGISTERED[name]}'" in error.value.remedy


@pytest.mark.parametrize("absent", ["", "typer rich lancedb pyarrow onnxruntime"])
def test_in_a_checkout_that_is_not_installed_train_is_not_taken_for_a_query(tmp_path, absent):
    run = run_code_without(absent, NOT_INSTALLED, "train", "recipe.toml", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: cdesearch is not installed, and the command train needs it. Run `pip install '.[tr")
    assert "`python -m trainer RECIPE`" in line


def test_a_library_of_another_project_that_is_missing_is_not_a_defect(tmp_path):
    run = run_code_without("typer", NOT_INSTALLED, "status", cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith("error: The library typer is not installed")


def test_the_name_that_other_programs_use_is_the_command_that_it_means():
    assert meant_command(["search", "cats"], command_names()) == "query"
    assert meant_command(["searches"], command_names()) is None

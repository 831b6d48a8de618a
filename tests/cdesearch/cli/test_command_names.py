"""The names of commands, and a checkout that is not installed."""

from hidden_libraries import run_code_without

from cdesearch.cli.command_names import command_names, meant_command

NOT_INSTALLED = (
    "import importlib.metadata, runpy, sys\n"
    "importlib.metadata.entry_points = lambda **_: ()\n"
    "runpy.run_module('cdesearch', run_name='__main__', alter_sys=True)\n"
)


def test_a_library_of_another_project_that_is_missing_is_not_a_defect(tmp_path):
    run = run_code_without("typer", NOT_INSTALLED, "status", cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith("error: The library typer is not installed")


def test_the_name_that_other_programs_use_is_the_command_that_it_means():
    assert meant_command(["search", "cats"], command_names()) == "query"
    assert meant_command(["searches"], command_names()) is None

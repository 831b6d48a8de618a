"""The packages that messages name are those that pip can install."""

import re
import tomllib
from pathlib import Path

import pytest
from hidden_libraries import run_module_without

from trainer.reporting import NEEDED, PACKAGES, reported

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = '[data]\npairs = ["pairs.parquet"]\n[model]\nstart = "s"\n[run]\nout = "o"\n'


def project_packages():
    listed = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    return {re.split(r"[\[<>=;]", name)[0] for name in listed}


@pytest.mark.parametrize("absent", ["", "torch numpy"])
@pytest.mark.parametrize(("module", "named"), [("train", "-m trainer RECIPE`"), ("export", "-m trainer.merge OUT ")])
def test_a_module_that_is_not_a_program_names_the_one_that_is(tmp_path, module, named, absent):
    run = run_module_without(absent, f"trainer.{module}", "recipe.toml", cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert run.stderr.startswith(f"error: trainer.{module} is not a program. Run `python ") and named in run.stderr


@pytest.mark.parametrize("module", ["faiss", "flash_attn", "sklearn", "pyarrow", "torch", "numpy.linalg"])
def test_a_missing_module_is_named_as_pip_knows_it(capsys, module):
    def fail():
        raise ModuleNotFoundError(name=module)

    assert reported(fail) == 2
    packages = re.search(r"`pip install ([^`]*)`", capsys.readouterr().err).group(1).split()
    assert set(packages) <= project_packages()
    is_needed = module.partition(".")[0] in NEEDED
    assert packages == (list(NEEDED) if is_needed else [PACKAGES.get(module, module)])


def test_libraries_that_are_replaced_are_named_as_pip_knows_them():
    text = (ROOT / "trainer" / "missing.py").read_text()
    named = re.findall(r"[f ]\"([\w -]+) is not installed", text)
    assert named and {word for names in named for word in names.split(" or ")} <= project_packages()


@pytest.mark.slow
def test_a_bundle_of_parquet_files_without_pyarrow_names_pyarrow(tmp_path):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "pairs.parquet").write_bytes(b"PAR1")
    (tmp_path / "s").mkdir()
    run = run_module_without("pyarrow", "trainer.bundle", "recipe.toml", "out", cwd=tmp_path)
    assert run.returncode == 2
    assert (
        run.stderr.splitlines()[-1].startswith("error: pyarrow is not installed")
        and "pip install pyarrow" in run.stderr
    )


def test_a_path_that_is_too_long_is_bad_input(tmp_path, capsys):
    assert reported(lambda: len((tmp_path / ("a" * 300)).read_bytes())) == 2
    assert re.fullmatch(r"error: The path .{80}\.\.\. is too long\. Check the spelling\.\n", capsys.readouterr().err)

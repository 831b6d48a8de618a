"""Files and folders that programs write are left out, each with the rule that excludes it."""

import pytest
from walked import found, left_out, put

from indexer.files.walk import concerns_walk

SPHINX = ("html/_sources/", "html/searchindex.js")


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (["package-lock.json"], {"package-lock.json": "lock file"}),
        (["Cargo.lock"], {"Cargo.lock": "lock file"}),
        (["sub/go.sum"], {"sub/go.sum": "lock file"}),
        (["~$report.docx"], {"~$report.docx": "lock file"}),
        (["a.min.js"], {"a.min.js": "minified code"}),
        (["a.MIN.CSS"], {"a.MIN.CSS": "minified code"}),
        (["den.devhelp2"], {"den.devhelp2": "index of Devhelp"}),
        (["den.devhelp.gz"], {"den.devhelp.gz": "index of Devhelp"}),
        (["html/_sources/a.rst.txt", "html/searchindex.js"], dict.fromkeys(SPHINX, "search page or asset of Sphinx")),
        (["build/a.md", "pyproject.toml"], {"build/": "build folder (beside pyproject.toml)"}),
        (["dist/a.md", "package.json"], {"dist/": "build folder (beside package.json)"}),
        (["target/a.md", "Cargo.toml"], {"target/": "build folder (beside Cargo.toml)"}),
        (["vendor/a.md", "go.mod"], {"vendor/": "installed packages (beside go.mod)"}),
        (["sub/node_modules/a.md"], {"sub/node_modules/": "installed packages (node_modules)"}),
        (["a/__pycache__/a.md"], {"a/__pycache__/": "compiled code (__pycache__)"}),
        (["env/pyvenv.cfg", "env/a.md"], {"env/": "virtual environment (pyvenv.cfg)"}),
        (["x/CMakeCache.txt", "x/a.md"], {"x/": "build folder (CMakeCache.txt)"}),
        (["c/CACHEDIR.TAG", "c/a.md"], {"c/": "cache (CACHEDIR.TAG)"}),
    ],
)
def test_what_a_program_writes_is_left_out_if_its_name_or_a_file_in_or_beside_it_shows_that(tmp_path, files, rule):
    put(tmp_path, *files)
    assert left_out(tmp_path) == rule


@pytest.mark.parametrize("name", ["build/a.md", "dist/a.md", "target/a.md", "vendor/a.md", "docs/lock.json", "min.js"])
def test_a_folder_is_not_left_out_because_of_its_name_alone(tmp_path, name):
    put(tmp_path, name)
    assert found(tmp_path) == [name]


def test_a_folder_that_a_program_fills_is_read_if_the_user_names_it(tmp_path):
    put(tmp_path / "node_modules", "pyvenv.cfg", "a.md", "CACHEDIR.TAG")
    assert "a.md" in found(tmp_path / "node_modules")


def test_an_ignore_file_can_include_what_programs_write(tmp_path):
    put(tmp_path, "yarn.lock", "build/a.md", "package.json", "env/pyvenv.cfg", "env/a.md")
    put(tmp_path, ".cdesearchignore", text="!yarn.lock\n!build\n!env/\n")
    assert found(tmp_path) == ["build/a.md", "env/a.md", "env/pyvenv.cfg", "package.json", "yarn.lock"]


def test_a_change_in_a_folder_that_a_program_fills_does_not_count(tmp_path):
    put(tmp_path, "package.json", "package-lock.json", "build/a.md", "env/pyvenv.cfg", "env/a.md")
    names = ["build/a.md", "env/a.md", "package-lock.json", "package.json", "env/pyvenv.cfg"]
    assert [concerns_walk(tmp_path, [tmp_path / name]) for name in names] == [False, False, False, True, False]

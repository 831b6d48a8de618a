"""The documents of the repository name only existing paths, name every folder, and have lines of 100 columns."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "cdesearch/default_model/README.md",
)
PAGES = (*DOCUMENTS, "benchmarks/results/README.md", "benchmarks/results/LOG.md", "tests/mutants.md")
PACKAGES = ("cdesearch", "indexer", "trainer", "benchmarks")
PATH = re.compile(rf"(?:{'|'.join((*PACKAGES, 'tests', 'examples'))})/[\w./-]*")
LONGEST_LINE = 100
LONGEST_README = 200


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_a_document_names_exists(document):
    named = PATH.findall((REPOSITORY / document).read_text(encoding="utf-8"))
    assert [name for name in named if not (REPOSITORY / name.rstrip(".")).exists()] == []


def test_the_architecture_names_every_folder():
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {
        file.parent.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for file in (REPOSITORY / package).rglob("*.py")
    }
    assert sorted(folder for folder in folders if f"`{folder}/`" not in text and folder not in PACKAGES) == []


@pytest.mark.parametrize("page", PAGES)
def test_lines_have_at_most_100_columns_tables_included(page):
    lines = (REPOSITORY / page).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def test_the_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= LONGEST_README


def folders() -> list[Path]:
    return [file.parent for package in PACKAGES for file in (REPOSITORY / package).rglob("__init__.py")]


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.relative_to(REPOSITORY).as_posix())
def test_the_docstring_of_a_folder_states_a_question_and_names_its_modules(folder):
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    docstring = text.split('"""')[1]
    if folder.relative_to(REPOSITORY).as_posix() == "cdesearch":
        return  # its docstring is for the users of the library
    assert "?" in docstring
    if folder.parent != REPOSITORY and folder.name not in (
        "integrations",
        "formats",
    ):
        modules = {file.stem for file in folder.glob("*.py")} - {"__init__"}
        assert set(re.findall(r"^(\w+)  ", docstring, re.MULTILINE)) == modules

"""The folders of the tests are those of the packages."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("cdesearch", "indexer", "trainer", "benchmarks")


def folders_with(pattern: str, root: Path) -> set[str]:
    files = (file for package in PACKAGES for file in (root / package).rglob(pattern) if file.name != "__init__.py")
    return {file.parent.relative_to(root).as_posix() for file in files}


@pytest.mark.parametrize("folder", sorted(folders_with("*.py", REPOSITORY)))
def test_a_folder_with_modules_has_a_folder_with_tests(folder):
    assert list((REPOSITORY / "tests" / folder).glob("test_*.py"))


def test_a_folder_with_tests_is_one_of_the_packages():
    folders = folders_with("test_*.py", REPOSITORY / "tests")
    assert sorted(folder for folder in folders if not (REPOSITORY / folder).is_dir()) == []

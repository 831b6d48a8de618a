"""The pages about results name only files that exist, and name every file in `current/`."""

import re
from pathlib import Path

import pytest

from benchmarks.measurement import RESULTS

CURRENT = RESULTS / "current"
REPOSITORY = RESULTS.parents[1]
NAMED = re.compile(r"(?:`|\s|\()([\w./-]+\.(?:jsonl?|md|svg|toml|py))(?=[`)\s,;])")


def named_files(page: str) -> list[str]:
    return NAMED.findall((RESULTS / page).read_text(encoding="utf-8"))


def exists(name: str) -> bool:
    return any((folder / name).is_file() for folder in (RESULTS, CURRENT, REPOSITORY))


@pytest.mark.parametrize("page", ["README.md", "LOG.md"])
def test_every_file_that_a_results_page_names_exists(page):
    names = named_files(page)
    assert names
    assert [name for name in names if not exists(name)] == []


def test_every_file_in_current_is_named_in_the_readme_of_results():
    named = {Path(name).name for name in named_files("README.md")}
    assert sorted(file.name for file in CURRENT.iterdir() if file.name not in named) == []

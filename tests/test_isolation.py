"""Tests see nothing of the person who runs them: no index, no configuration, no server."""

from pathlib import Path

import pytest

from cdesearch.cli.config_files import config_files
from cdesearch.errors import IndexNotFoundError
from cdesearch.store.finding import find_index

REPOSITORY = Path(__file__).parents[1]


def test_above_the_working_directory_of_a_test_is_neither_an_index_nor_a_configuration():
    assert not Path.cwd().is_relative_to(REPOSITORY)  # where `make demo` leaves an index
    with pytest.raises(IndexNotFoundError):
        find_index(Path.cwd())
    assert config_files() == []


@pytest.mark.parametrize("turn", [1, 2])
def test_the_working_directory_of_a_test_is_empty(turn):
    assert list(Path.cwd().iterdir()) == []
    (Path.cwd() / "left").touch()

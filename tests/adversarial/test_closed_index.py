"""Folders of an index or a source that cannot be entered: one line with the remedy, and nothing is changed."""

import pytest
from command import cdesearch_as, picture

from cdesearch.progress import Silent
from cdesearch.store.storage import current_generation
from indexer.build import build
from indexer.settings import Options


@pytest.fixture
def index(docs, tiny_checkpoint):
    build([docs], Options(model=tiny_checkpoint), Silent())
    return docs / ".cdesearch"


def refusal(as_owner, closed, *arguments, cwd):
    """What a command prints on stderr while the folder `closed` cannot be entered."""
    before = picture(cwd)
    closed.chmod(0)
    made = cdesearch_as(as_owner, *arguments, cwd=cwd)
    closed.chmod(0o700)
    assert made.returncode == 2 and picture(cwd) == before, made.stderr
    return made.stderr


def expected(folder):
    remedy = "Correct its permissions, or ask its owner for access."
    return f"error: {folder} cannot be read (permission denied). {remedy}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["query", "moon"], ["status"], ["doctor"], ["index", "."], ["sources"], ["clear", "--yes"]]
)
def test_an_index_folder_that_cannot_be_entered_is_named_with_the_remedy(docs, index, as_owner, command):
    assert refusal(as_owner, index, *command, "--index", ".cdesearch", cwd=docs) == expected(index)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["query", "moon"], ["status", "."], ["doctor"], ["index", "."]])
def test_an_index_that_is_found_and_cannot_be_entered_is_named_with_the_remedy(docs, index, as_owner, command):
    assert refusal(as_owner, index, *command, cwd=docs) == expected(index)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["index", "."], ["clear", "--yes"]])
def test_generations_that_cannot_be_entered_are_not_reported_as_unwritable(docs, index, as_owner, command):
    assert refusal(as_owner, index / "generations", *command, cwd=docs) == expected(index / "generations")


@pytest.mark.slow
@pytest.mark.parametrize("command", [["query", "moon"], ["status"], ["doctor"]])
def test_generations_that_cannot_be_entered_are_reported(docs, index, as_owner, command):
    assert refusal(as_owner, index / "generations", *command, cwd=docs) == expected(current_generation(index))


def test_an_index_that_may_not_be_written_has_a_remedy_for_clear(docs, index, as_owner):
    index.chmod(0o500)
    made = cdesearch_as(as_owner, "clear", "--yes", cwd=docs)
    index.chmod(0o700)
    remedy = "Correct its permissions, or ask its owner for access."
    assert made.returncode == 2 and made.stderr == f"error: {index} cannot be written. {remedy}\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", [["index"], ["watch"], ["sources", "add"]])
@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_a_named_folder_that_cannot_be_read_is_named_with_the_remedy(docs, index, as_owner, command, mode):
    (docs / "shut").mkdir()
    (docs / "shut").chmod(mode)
    made = cdesearch_as(as_owner, *command, docs / "shut", "--index", ".cdesearch", cwd=docs)
    (docs / "shut").chmod(0o700)
    assert made.returncode == 2 and made.stderr == expected(docs / "shut")

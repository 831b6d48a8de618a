"""The list of generations: the generations that it names, and that no other folder is removed unless it is lost."""

import json
import os
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdesearch.store.guard import MAX_SMALL_FILE
from cdesearch.store.layout import GENERATIONS
from indexer.generations.generation import LEDGER, is_readable, own_generations, record, remove

NAMES = ["a" * 12, "0123456789ab", "f" * 12]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / GENERATIONS).mkdir()
    return tmp_path


def add(folder, *names):
    """Record the names and make their folders, each with a file in it."""
    generations = [folder / GENERATIONS / name for name in names]
    for generation in generations:
        record(folder, generation)
        generation.mkdir()
        (generation / "file").write_text("rows")
    return generations


def listed(folder):
    return json.loads((folder / LEDGER).read_text())["generations"]


def test_a_symbolic_link_in_the_place_of_a_generation_is_not_a_generation(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (generation,) = add(folder, NAMES[0])
    shutil.rmtree(generation)
    generation.symlink_to(elsewhere, target_is_directory=True)
    assert own_generations(folder) == []
    remove(folder, [generation])
    assert generation.is_symlink() and elsewhere.is_dir()


def test_a_generation_that_cannot_be_deleted_yet_stays_listed_until_the_next_time(folder, monkeypatch):
    """Windows refuses to delete a file that a reader holds open."""
    (generation,) = add(folder, NAMES[0])

    def held_open(*_, **__):
        raise PermissionError("held open by another process")

    with monkeypatch.context() as during:
        during.setattr(os, "unlink", held_open)
        remove(folder, [generation])
    assert own_generations(folder) == [generation] and (generation / "file").exists()
    remove(folder, [generation])
    assert not generation.exists() and listed(folder) == []


DAMAGED = {
    "not UTF-8": b"\xff\xfe{}",
    "a number for the list": b'{"generations": 5}',
    "nested too deeply": b"[" * 50_000,
    "too large": b'{"generations": ["aaaaaaaaaaaa"]}' + b" " * MAX_SMALL_FILE,
}


@pytest.mark.parametrize("content", [None, *DAMAGED.values()], ids=["missing", *DAMAGED])
def test_a_ledger_that_is_lost_is_replaced_by_the_names_of_the_folders(folder, content):
    """Otherwise, generations would stay forever, and their texts with them."""
    first, second = add(folder, *sorted(NAMES[:2]))
    (folder / GENERATIONS / "other").mkdir()
    (folder / GENERATIONS / NAMES[2]).symlink_to(first)
    (folder / LEDGER).unlink() if content is None else (folder / LEDGER).write_bytes(content)
    assert not is_readable(folder) and own_generations(folder) == [first, second]
    record(folder, folder / GENERATIONS / ("b" * 12))
    assert is_readable(folder) and listed(folder) == [first.name, second.name, "b" * 12]
    (folder / LEDGER).write_bytes(content or b"")
    remove(folder, [first])
    assert not first.exists() and listed(folder) == [second.name]
    assert (folder / GENERATIONS / "other").is_dir() and (folder / GENERATIONS / NAMES[2]).is_symlink()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES)), max_size=8))
def test_the_ledger_lists_what_was_added_and_not_removed_in_order(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("ledger")
    (folder / GENERATIONS).mkdir()
    expected = []
    for adds, name in steps:
        if adds and name not in expected:
            add(folder, name)
            expected.append(name)
        elif not adds:
            remove(folder, [folder / GENERATIONS / name])
            expected = [one for one in expected if one != name]
        assert [generation.name for generation in own_generations(folder)] == expected
    assert sorted(file.name for file in (folder / GENERATIONS).iterdir()) == sorted(expected)

"""Damaged states: each is refused in one line that names the file."""

import pickle

import pytest
import torch
from tiny_run import make_run, recipe_of

from cdesearch.errors import InputError, StorageError
from trainer.run.checkpoint import (
    BEST,
    STATE,
    RunProgress,
    after_last_state,
    load_best,
    load_state,
    save_best,
    save_state,
)


@pytest.fixture
def saved(tmp_path):
    modules, optimizer = make_run()
    recipe = recipe_of(tmp_path, small=False)
    save_state(tmp_path, recipe, RunProgress(step=3), modules, optimizer)
    save_best(tmp_path, recipe, modules)
    return tmp_path, recipe, modules, optimizer


class Foreign:
    """An object that torch refuses to load."""


DAMAGES = {
    "empty": lambda content: b"",
    "garbage": lambda content: b"\x80garbage" * 99,
    "cut off": lambda content: content[: len(content) // 2],
    "a foreign pickle": lambda content: pickle.dumps(Foreign()),
    "a damaged list of parts": lambda content: b"cdesearch parts 1\n[",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [STATE, BEST])
def test_a_damaged_file_is_named(saved, name, damage):
    folder, recipe, modules, optimizer = saved
    file = folder / name
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(StorageError, match=name) as raised:
        load_state(folder, recipe, modules, optimizer) if name == STATE else load_best(folder, modules)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("name", [STATE, BEST])
def test_a_bit_that_flipped_in_a_tensor_is_detected(tmp_path, name, small):
    """torch itself loads such a file, with another number in it."""
    modules, optimizer = make_run()
    recipe = recipe_of(tmp_path, small=small)
    save_state(tmp_path, recipe, RunProgress(step=3), modules, optimizer)
    save_best(tmp_path, recipe, modules)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    torch.load(tmp_path / name)
    with pytest.raises(StorageError, match=rf"{name} cannot be read\. Copy it again"):
        load_state(tmp_path, recipe, modules, optimizer) if name == STATE else load_best(tmp_path, modules)


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": None},
        {"recipe": "{"},
        {"model": None},
        {"optimizer": {}},
        {"random": "x"},
        {"seconds": None},
        {"step": -7},
        {"seconds": float("nan")},
    ],
)
def test_a_state_with_an_impossible_value_is_refused(saved, change):
    folder, recipe, modules, optimizer = saved
    torch.save(torch.load(folder / STATE) | change, folder / STATE)
    with pytest.raises(StorageError, match=r"state\.pt cannot be read\. Copy it again, or set another run\.out\."):
        load_state(folder, recipe, modules, optimizer)


def test_a_state_that_is_a_list_or_lacks_its_step_is_refused(saved):
    folder, recipe, modules, optimizer = saved
    state = torch.load(folder / STATE)
    del state["step"]
    for content in ([1, 2], state):
        torch.save(content, folder / STATE)
        with pytest.raises(StorageError, match=r"state\.pt cannot be read"):
            load_state(folder, recipe, modules, optimizer)


def test_a_state_is_still_refused_with_its_own_reason_if_it_is_missing(saved):
    folder, recipe, modules, optimizer = saved
    (folder / STATE).unlink()
    with pytest.raises(InputError, match=r"has no state\.pt to resume"):
        load_state(folder, recipe, modules, optimizer)


def test_a_checkpoint_that_does_not_fit_on_the_disk_is_written_by_resuming():
    advice = r"full\. Free some space, and run again with --resume\."
    with pytest.raises(StorageError, match=advice), after_last_state():
        raise StorageError("The disk is full.", "Free some space, and run the same command again.")

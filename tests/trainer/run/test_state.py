"""The state of a run: what differs or is damaged is refused in one line that names it."""

import pickle
from dataclasses import replace

import pytest
import torch
from batches import make_student
from msgspec.structs import replace as changed

from cdesearch.errors import InputError, StorageError
from trainer.recipe import check_recipe
from trainer.run.state import STATE, Running, load_state, save_state


@pytest.fixture
def run(tmp_path):
    """A run of a tiny student whose token embeddings are frozen, as in a recipe."""
    values = {"data": {"pairs": ["p"]}, "model": {"start": "s"}, "run": {"out": tmp_path}}
    model, head = make_student()
    model.second_stage.backbone.tokens.requires_grad_(False)
    trained = [parameter for parameter in (*model.parameters(), *head.parameters()) if parameter.requires_grad]
    modules, optimizer = {"model": model, "head": head}, torch.optim.AdamW(trained)
    recipe = check_recipe(values, tmp_path)
    return Running(tmp_path, recipe, {"start": "1"}, modules, optimizer, ("learning.steps", "run.out"), 3)


class Foreign:
    """An object that torch refuses to load."""


DAMAGES = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "a foreign pickle": lambda content: pickle.dumps(Foreign()),
    "a flipped bit, with which torch loads another number": lambda content: (
        content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[len(content) // 2 + 1 :]
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(run, damage):
    save_state(run)
    file = run.folder / STATE
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(StorageError, match=rf"{STATE} cannot be read\. Copy it again") as raised:
        load_state(run)
    assert "\n" not in str(raised.value)


def test_a_state_continues_only_with_what_it_was_started_with(run, tmp_path):
    with pytest.raises(InputError, match=r"has no state\.pt to resume"):
        load_state(run)
    save_state(run)
    again = replace(run, step=0)
    load_state(again)
    assert again.step == 3
    learning = changed(run.recipe.learning, rate=0.1, steps=7)
    with pytest.raises(InputError, match=r"another recipe: learning\.rate: 2e-05 -> 0\.1\."):
        load_state(replace(run, recipe=changed(run.recipe, learning=learning)))
    load_state(replace(run, recipe=changed(run.recipe, learning=changed(run.recipe.learning, steps=7))))
    with pytest.raises(InputError, match=r"The start differs from what .* was started with"):
        load_state(replace(run, digests={"start": "2"}))
    torch.save(torch.load(run.folder / STATE) | {"recipe": '{"modle": {}}'}, run.folder / STATE)
    with pytest.raises(InputError, match=r"was started by another version or command: .* there is no modle"):
        load_state(run)

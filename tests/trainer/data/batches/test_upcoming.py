from dataclasses import fields
from multiprocessing import active_children

import pytest
import torch
from batches import make_batch

from trainer.data.batches.upcoming import by_processes, upcoming
from trainer.data.training_batch import Tokens


def tensors(batch):
    for field in fields(batch):
        part = getattr(batch, field.name)
        yield from (part.ids, part.mask) if isinstance(part, Tokens) else [] if part is None else [part]


WAYS = {"chosen": upcoming, "processes": lambda make, steps: by_processes(make, steps, 2)}


@pytest.mark.parametrize("way", WAYS)
def test_the_batches_do_not_depend_on_how_they_are_prepared(way):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    found = list(WAYS[way](lambda step: make_batch(step + 3), range(2, 9)))
    assert len(found) == 7
    for step, batch in zip(range(2, 9), found, strict=True):
        for one, other in zip(tensors(batch), tensors(make_batch(step + 3)), strict=True):
            assert torch.equal(one, other)
    assert torch.equal(torch.rand(2), expected), "no random number of the steps is used"
    assert list(WAYS[way](make_batch, range(0))) == []


@pytest.mark.parametrize("way", WAYS)
def test_an_error_in_a_batch_reaches_the_run(way):
    def fail(step):
        raise ValueError(f"the pairs of step {step}")

    with pytest.raises(ValueError, match="the pairs of step 4") as caught:
        next(WAYS[way](fail, range(4, 6)))
    assert caught.traceback and not active_children(), "the workers end although the traceback is kept"

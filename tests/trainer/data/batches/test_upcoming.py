import os
import subprocess
import sys
import time
from dataclasses import fields
from multiprocessing import active_children, get_all_start_methods
from pathlib import Path

import pytest
import torch
from batches import make_batch

from trainer.data.batches.upcoming import by_processes, upcoming
from trainer.data.training_batch import Tokens

ROOT = Path(__file__).resolve().parents[4]
FORKS = "fork" in get_all_start_methods()


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


def children_of(process):
    command = ["ps", "-o", "pid=", "--ppid", str(process.pid)]
    return [int(word) for word in subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not FORKS or sys.platform != "linux", reason="finds processes by ps, as on Linux")
def test_workers_notice_that_their_run_was_killed(small_recipe):
    out = small_recipe.parent / "out"
    program = (
        "import sys; import trainer.data.batches.stream as stream; from trainer.__main__ import main\n"
        "from trainer.data.batches.upcoming import by_processes\n"
        "stream.upcoming = lambda make, steps: by_processes(make, steps, 2)\n"
        f"sys.exit(main([{str(small_recipe)!r}, '--set=learning.steps=100000']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (out / "log.jsonl").exists() or (out / "log.jsonl").read_text().count("\n") < 2:
        time.sleep(0.05)
        assert process.poll() is None
    workers = children_of(process)
    assert len(workers) == 2
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))

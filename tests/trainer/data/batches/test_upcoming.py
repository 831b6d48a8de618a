import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from multiprocessing import active_children, get_all_start_methods
from pathlib import Path

import pytest
import torch
from batches import make_batch

from trainer.data.batches.upcoming import upcoming
from trainer.data.training_batch import Tokens
from trainer.run.log import read_log

ROOT = Path(__file__).resolve().parents[4]
FORKS = "fork" in get_all_start_methods()


def tensors(batch):
    for field in fields(batch):
        part = getattr(batch, field.name)
        yield from (part.ids, part.mask) if isinstance(part, Tokens) else [] if part is None else [part]


@pytest.mark.parametrize("n_workers", [None, 0, 1, 3])
def test_the_batches_do_not_depend_on_the_number_of_workers(n_workers):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    found = list(upcoming(lambda step: make_batch(step + 3), range(2, 9), n_workers))
    assert len(found) == 7
    for step, batch in zip(range(2, 9), found, strict=True):
        for one, other in zip(tensors(batch), tensors(make_batch(step + 3)), strict=True):
            assert torch.equal(one, other)
    assert torch.equal(torch.rand(2), expected), "no random number of the steps is used"


@pytest.mark.parametrize("n_workers", [0, 2])
def test_an_error_in_a_batch_reaches_the_run(n_workers):
    def fail(step):
        raise ValueError(f"the pairs of step {step}")

    with pytest.raises(ValueError, match="the pairs of step 4") as caught:
        next(upcoming(fail, range(4, 6), n_workers))
    assert caught.traceback and not active_children(), "the workers end although the traceback is kept"


@pytest.mark.parametrize("n_workers", [0, 2])
def test_without_steps_there_are_no_batches(n_workers):
    assert list(upcoming(make_batch, range(0), n_workers)) == []


@pytest.fixture
def recipe_file(tmp_path, tiny_checkpoint):
    rows = [{"query": f"cat {number}", "document": f"dog water {number}"} for number in range(40)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "recipe.toml").write_text(
        f"""
        data = {{ pairs = ["{tmp_path}/pairs.jsonl"], held_out = 0 }}
        model = {{ start = "{tiny_checkpoint}" }}
        batches = {{ size = 8, context_size = 8, cluster_size = 8 }}
        learning = {{ steps = 100000, micro_batch = 8 }}
        run = {{ out = "{tmp_path}/out", workers = 2 }}
        """
    )
    return tmp_path / "recipe.toml"


def children_of(process):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not FORKS or sys.platform != "linux", reason="finds processes by ps, as on Linux")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_to_the_process_group_ends_all_workers(recipe_file, number, code):
    """Ctrl-C and schedulers signal every process of a group."""
    out = recipe_file.parent / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", str(recipe_file)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (out / "log.jsonl").exists() or len(read_log(out)) < 2:
        time.sleep(0.05)
        assert process.poll() is None
    workers = children_of(process)
    assert len(workers) == 2
    if number == signal.SIGKILL:
        process.kill()  # the workers must notice this by themselves
    else:
        os.killpg(process.pid, number)
    _, messages = process.communicate()
    assert process.returncode == code
    if number != signal.SIGKILL:
        assert messages.splitlines()[-1].startswith("Stopped. To continue: ")
        assert (out / "state.pt").exists()
    deadline = time.monotonic() + 60
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))

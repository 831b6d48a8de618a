from contextlib import contextmanager

import pytest
import torch

from trainer.execution.distributed import same_seed
from trainer.step import random_state as module
from trainer.step.random_state import random_state, replayed, same_random_state


def test_several_processes_share_random_numbers_in_the_context_pass_and_continue_with_their_own(monkeypatch):
    monkeypatch.setattr(module, "world", lambda: 3)  # the seed is drawn as on one process
    torch.manual_seed(7)
    seed = same_seed(torch.device("cpu"))
    of_their_own = torch.rand(4)
    shared = torch.rand(4, generator=torch.Generator().manual_seed(seed))
    torch.manual_seed(7)
    with same_random_state(torch.device("cpu")):
        assert torch.equal(torch.rand(4), shared)
    assert torch.equal(torch.rand(4), of_their_own)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_several_processes_draw_the_same_numbers_on_their_gpus(monkeypatch):
    monkeypatch.setattr(module, "world", lambda: 3)
    device, drawn, of_their_own = torch.device("cuda", 0), [], []
    for state in (7, 8):  # of two processes
        torch.manual_seed(7)
        seed = same_seed(device)
        monkeypatch.setattr(module, "same_seed", lambda _, seed=seed: seed)
        torch.cuda.manual_seed(state)
        expected = torch.rand(4, device=device)
        torch.cuda.manual_seed(state)
        with same_random_state(device):
            drawn.append(torch.rand(4, device=device))
        of_their_own.append(torch.equal(torch.rand(4, device=device), expected))
    assert torch.equal(*drawn) and of_their_own == [True, True]


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_in_the_context_pass_every_generator_of_the_device_is_seeded_and_restored(kind, monkeypatch):
    """Without a GPU, the generators that are set and the devices whose state is kept are recorded."""
    kept, seeds = [], []

    @contextmanager
    def fork_rng(devices):
        kept.append(devices)
        yield

    monkeypatch.setattr(module, "world", lambda: 2)
    monkeypatch.setattr(module, "same_seed", lambda _: 11)
    monkeypatch.setattr(torch.random, "fork_rng", fork_rng)
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    with same_random_state(torch.device(kind)):
        assert seeds == [11], "torch.manual_seed seeds the CPU and every GPU"
    assert kept == [[torch.device("cuda")] if kind == "cuda" else []]


def test_one_process_draws_in_the_context_pass_as_it_would_without():
    torch.manual_seed(7)
    expected = torch.rand(4)
    torch.manual_seed(7)
    with same_random_state(torch.device("cpu")):
        assert torch.equal(torch.rand(4), expected)


def test_within_a_replay_random_numbers_are_those_of_the_earlier_state():
    earlier = random_state(torch.device("cpu"))
    drawn = torch.rand(4)
    now = torch.get_rng_state()
    with replayed(earlier, torch.device("cpu")):
        assert torch.equal(torch.rand(4), drawn)
    assert torch.equal(torch.get_rng_state(), now)


def test_a_replay_sets_and_restores_the_generator_of_its_own_gpu(monkeypatch):
    """Without a GPU, the calls to its generator are recorded."""
    device, calls = torch.device("cuda", 1), []
    states = iter(["earlier", "now"])
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda of: calls.append(("get", of)) or next(states))
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, of: calls.append((state, of)))
    with replayed(random_state(device), device):
        assert calls == [("get", device), ("get", device), ("earlier", device)]
    assert calls[3:] == [("now", device)]

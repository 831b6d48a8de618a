import torch

from trainer.step.cached_pass import random_state, replayed


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

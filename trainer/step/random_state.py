"""Random states of the host and of a GPU, so that a repeated forward pass draws the same dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from trainer.execution.distributed import same_seed, world

State = tuple[Tensor, Tensor | None]  # of the CPU, and of the GPU if that is the device


def random_state(device: torch.device) -> State:
    """The present state."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


@contextmanager
def replayed(state: State, device: torch.device) -> Iterator[None]:
    """Within this context manager, random numbers are those that followed an earlier state."""
    now = random_state(device)
    _restore(state, device)
    try:
        yield
    finally:
        _restore(now, device)


@contextmanager
def same_random_state(device: torch.device) -> Iterator[None]:
    """Within this context manager, all processes draw the same random numbers.

    All processes repeat the context pass, and its dropout must be the same in each.

    Afterwards each process continues with its own state, that of the CPU and that of its GPU.
    """
    if world() == 1:
        yield
        return
    seed = same_seed(device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)  # of the CPU and of every GPU
        yield


def _restore(state: State, device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)

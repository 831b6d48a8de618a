"""Random states of the host and of a GPU, so that a repeated forward pass draws the same dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

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


def _restore(state: State, device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)

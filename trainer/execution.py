"""How a model runs: in the processes of torchrun, which average the gradients of their batches, and in evaluation."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn

PATIENCE = timedelta(hours=12)  # how long processes wait while the first one prepares the data


@contextmanager
def joined() -> Iterator[torch.device]:
    """Join the process group of torchrun, if there is one; yields the device of this process."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield device
    finally:
        dist.destroy_process_group()


def world() -> int:
    """The number of processes."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_first() -> bool:
    """Whether this is the process that writes files and reports progress."""
    # Before and after the processes are joined, the variables of torchrun tell.
    return not rank() and (os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0")


def say(line: str) -> None:
    """Print a line on stderr, once for all processes."""
    if is_first():
        print(line, file=sys.stderr)


@contextmanager
def first_goes_ahead(device: torch.device) -> Iterator[None]:
    """Run the block in the first process, then in all others, which find its results on disk."""
    if not is_first():
        highest(0, device)
    yield
    if is_first():
        highest(0, device)


def mean(tensor: Tensor) -> Tensor:
    """Replace `tensor` by its mean over all processes, and return it."""
    if world() > 1:
        dist.all_reduce(tensor)
        tensor /= world()
    return tensor


def highest(value: int, device: torch.device) -> int:
    """The highest of the values of all processes."""
    if world() == 1:
        return value
    found = torch.tensor([value], device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put every module of `model` into evaluation mode; afterwards each is in the mode that it was in before."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode

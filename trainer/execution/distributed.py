"""Training in several processes, which torchrun starts; without torchrun there is one process."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from itertools import pairwise

import torch
import torch.distributed as dist
from torch import Tensor

PATIENCE = timedelta(hours=12)  # how long processes wait while the first one embeds the pairs or evaluates


@contextmanager
def joined() -> Iterator[torch.device]:
    """Join the process group of torchrun, if there is one; yields the device of this process.

    Within another such block, the processes are joined already: they cannot reliably be joined a second time.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if dist.is_initialized():
        yield device
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield device
    finally:
        dist.destroy_process_group()


_works_alone: ContextVar[bool] = ContextVar("_works_alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """Within the block, this process computes as if it were the only one: nothing is split, gathered or summed."""
    token = _works_alone.set(True)
    try:
        yield
    finally:
        _works_alone.reset(token)


def world() -> int:
    """The number of processes that share the work; 1 within `alone`."""
    return dist.get_world_size() if dist.is_initialized() and not _works_alone.get() else 1


def rank() -> int:
    """The number of this process among those that share the work, from 0; 0 within `alone`."""
    return dist.get_rank() if dist.is_initialized() and not _works_alone.get() else 0


def is_first() -> bool:
    """Whether this is the process that writes files and reports progress."""
    if dist.is_initialized():
        return dist.get_rank() == 0
    # Before and after the processes are joined, the variables of torchrun tell.
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


def say(line: str) -> None:
    """Print a line on stderr, once for all processes."""
    if is_first():
        print(line, file=sys.stderr)


@contextmanager
def first_goes_ahead(device: torch.device, ending: type[Exception] | None = None) -> Iterator[None]:
    """Run the block in the first process, then in all others, which find its results on disk.

    If it raises `ending` in the first process, it is raised in the others too, and the block does not run there.
    """
    if not is_first():
        if highest(0, device) and ending is not None:
            raise ending
        yield
        return
    try:
        yield
    except Exception as error:
        if ending is not None and isinstance(error, ending):
            highest(1, device)
        raise
    highest(0, device)


def rows_of_process(n: int) -> slice:
    """The rows among `n` that this process computes."""
    return slice(*_bounds(n)[rank() : rank() + 2])


def gather(mine: Tensor, n: int) -> Tensor:
    """The `n` rows of all processes, in order, from those of `rows_of_process(n)`."""
    if world() == 1:
        return mine
    # How many rows each process has is computed here: if the processes told each other, the host would wait for it.
    sizes = [end - start for start, end in pairwise(_bounds(n))]
    padded = torch.cat([mine, mine.new_zeros(max(sizes) - len(mine), *mine.shape[1:])])
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])


def _bounds(n: int) -> list[int]:
    """Where the rows of each process start among `n`, and where those of the last one end."""
    return [n * number // world() for number in range(world() + 1)]


def total(tensor: Tensor) -> Tensor:
    """Replace `tensor` by its sum over all processes, and return it."""
    if world() > 1:
        dist.all_reduce(tensor)
    return tensor


def highest(value: int, device: torch.device) -> int:
    """The highest of the values of all processes."""
    if world() == 1:
        return value
    found = torch.tensor([value], device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


def same_seed(device: torch.device) -> int:
    """A random number that is the same in all processes."""
    seed = torch.randint(2**31, (1,), device=device)
    if world() > 1:
        dist.broadcast(seed, 0)
    return int(seed)

"""Prepare batches before the steps that need them, in processes."""

import os
import signal
import warnings
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_all_start_methods

import torch
from torch.utils.data import DataLoader, Dataset

from trainer.data.training_batch import Batch

MAX_WORKERS = 8  # processes for one GPU
AHEAD = 2  # batches that each process prepares in advance

Make = Callable[[int], Batch]  # computes the batch of a step


def upcoming(make: Make, steps: Sequence[int]) -> Generator[Batch]:
    """The batches that `make` returns for `steps`, in order.

    For a GPU, one process for every two cores prepares them, at most MAX_WORKERS; without a GPU the cores are needed
    for the steps. Processes are forked, so that they share the memory of the pairs.
    """
    n_workers = min(MAX_WORKERS, (os.cpu_count() or 1) // 2) if torch.cuda.is_available() else 0
    if n_workers and "fork" in get_all_start_methods():
        return by_processes(make, steps, n_workers)
    return (make(step) for step in steps)


class _Steps(Dataset[Batch]):
    def __init__(self, make: Make) -> None:
        self._make = make

    def __getitem__(self, step: int) -> Batch:
        return self._make(step)


def by_processes(make: Make, steps: Sequence[int], n_workers: int) -> Generator[Batch]:
    """The batches, prepared by forked processes."""
    with warnings.catch_warnings():
        # torch warns about more workers than cores, and Python 3.12 about forks, which torch's loader supports.
        warnings.simplefilter("ignore")
        loader = DataLoader(
            _Steps(make),
            sampler=steps,
            batch_size=None,
            collate_fn=lambda batch: batch,
            num_workers=n_workers,
            prefetch_factor=AHEAD,
            worker_init_fn=_prepare_worker,
            multiprocessing_context="fork",
            generator=torch.Generator(),  # so that the loader does not change the random numbers of the steps
        )
        batches = iter(loader)
    try:
        yield from batches
    finally:
        # The traceback of an error keeps the iterator and thereby the workers. As these ignore SIGTERM, the interpreter
        # would wait for them forever when it ends.
        batches._shutdown_workers()  # type: ignore[attr-defined] # of the iterator for several processes


def _prepare_worker(_number: int) -> None:
    """Leave signals to the main process, which ends its workers. If it dies, the workers end by themselves."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"

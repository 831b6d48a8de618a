"""Batches made ahead of the steps that take them, in processes or in a thread."""

import os
import signal
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_all_start_methods
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from trainer.data.training_batch import Batch

MOST = 8  # worker processes for one GPU
AHEAD = 2  # batches of each worker that wait for their step

Make = Callable[[int], Batch]  # a step to its batch


def upcoming(make: Make, steps: Sequence[int], n_workers: int | None) -> Generator[Batch]:
    """`make` of every step in order.

    None chooses for this machine: on a GPU as many processes as cores allow, and on a CPU, whose cores compute the
    steps, a thread. Processes are forked, because they share the memory of the pairs; if that is not possible, as on
    Windows, a thread takes their place.
    """
    if n_workers is None:
        n_workers = min(MOST, (os.cpu_count() or 1) // 2) if torch.cuda.is_available() else 0
    if n_workers and "fork" in get_all_start_methods():
        return _by_processes(make, steps, n_workers)
    return _by_a_thread(make, steps)


def _by_a_thread(make: Make, steps: Sequence[int]) -> Generator[Batch]:
    with ThreadPoolExecutor(1, thread_name_prefix="cdesearch-batch") as pool:
        ready = pool.submit(make, steps[0]) if steps else None
        for following in [*steps[1:], None]:
            if ready is None:
                return
            batch = ready.result()
            ready = None if following is None else pool.submit(make, following)
            yield batch


class _Steps(Dataset[Batch]):
    def __init__(self, make: Make) -> None:
        self._make = make

    def __getitem__(self, step: int) -> Batch:
        return self._make(step)


def _by_processes(make: Make, steps: Sequence[int], n_workers: int) -> Generator[Batch]:
    with warnings.catch_warnings():
        # More workers than cores were asked for, or Python 3.12 warns of forks: torch's loader is made for them.
        warnings.simplefilter("ignore")
        loader = DataLoader(
            _Steps(make),
            sampler=steps,
            batch_size=None,
            collate_fn=_as_it_is,
            num_workers=n_workers,
            prefetch_factor=AHEAD,
            worker_init_fn=_prepare_worker,
            multiprocessing_context="fork",
            generator=torch.Generator(),  # the random numbers of the steps stay the same
        )
        batches = iter(loader)
    yield from batches


def _prepare_worker(_number: int) -> None:
    """Leave signals to the main process, which ends its workers; a worker whose parent has died ends by itself."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _as_it_is(batch: Any) -> Any:
    return batch

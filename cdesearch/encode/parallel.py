"""Run a network over batches of texts, several at the same time."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cdesearch.encode.length_batches import Integers, TextBatch

Input = TypeVar("Input")
Output = TypeVar("Output")


def run_parallel(function: Callable[[Input], Output], inputs: Sequence[Input], workers: int) -> Iterator[Output]:
    """The function of every input, in order; `workers` threads compute them in parallel."""
    if workers == 1 or len(inputs) == 1:
        yield from map(function, inputs)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        running = deque(pool.submit(function, one) for one in inputs)
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def run_batches(
    batches: Sequence[TextBatch], network: Callable[[Integers, Integers], Output], workers: int
) -> Iterator[tuple[Integers, Output]]:
    """Text indices and output of every batch, in order; `workers` threads compute batches in parallel."""
    outputs = run_parallel(lambda batch: network(batch.ids, batch.mask), batches, workers)
    for batch, output in zip(batches, outputs, strict=True):
        yield batch.indices, output

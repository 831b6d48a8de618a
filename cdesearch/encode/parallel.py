"""Run a network over batches of texts, several at the same time."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cdesearch.encode.length_batches import Integers, TextBatch

Output = TypeVar("Output")


def run_batches(
    batches: Sequence[TextBatch], network: Callable[[Integers, Integers], Output], workers: int
) -> Iterator[tuple[Integers, Output]]:
    """Text indices and output of every batch, in order; `workers` threads compute batches in parallel."""
    if workers == 1 or len(batches) == 1:
        for batch in batches:
            yield batch.indices, network(batch.ids, batch.mask)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        running = deque((batch.indices, pool.submit(network, batch.ids, batch.mask)) for batch in batches)
        while running:
            indices, output = running.popleft()
            yield indices, output.result()
    finally:
        pool.shutdown(cancel_futures=True)

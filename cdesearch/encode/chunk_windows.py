"""Join the chunks of a document into windows, for models in which every chunk reads the others (late chunking)."""

from collections.abc import Sequence

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.encode.length_batches import Ids, Integers

WINDOW_TOKENS = 4096  # of a window, separators included; the context model was trained with so many


def split_windows(lengths: Sequence[int], limit: int, n_between: int) -> list[range]:
    """Windows of consecutive chunks, in order, from their numbers of tokens.

    Each has as many chunks as fit into `limit` tokens with `n_between` separators between two chunks. A chunk that is
    longer than `limit` is a window of its own.
    """
    windows, start, total = [], 0, 0
    for position, length in enumerate(lengths):
        if position > start and total + n_between + length > limit:
            windows.append(range(start, position))
            start = position
        total = length if position == start else total + n_between + length
    return [*windows, range(start, len(lengths))] if lengths else []


def join_chunks(chunks: Sequence[Ids], separator: int | None) -> tuple[Integers, Floats]:
    """The ids (T,) of one sequence of all chunks (C), and (C, T) 1 where a token belongs to a chunk, else 0.

    A separator, if there is one, belongs to no chunk.
    """
    between = [] if separator is None else [separator]
    ids = [*chunks[0], *(number for chunk in chunks[1:] for number in (*between, *chunk))]
    belongs = np.zeros((len(chunks), len(ids)), np.float32)
    start = 0
    for row, chunk in enumerate(chunks):
        belongs[row, start : start + len(chunk)] = 1
        start += len(chunk) + len(between)
    return np.array(ids, np.int64), belongs

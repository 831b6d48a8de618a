"""Join the chunks of a document into windows, for models in which every chunk reads the others (late chunking)."""

from collections.abc import Sequence

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.encode.length_batches import Ids, Integers

WINDOW_TOKENS = 4096  # of a window, separators included; the context model was trained with so many


def split_windows(lengths: Sequence[int], limit: int) -> list[range]:
    """Windows of consecutive chunks, in order, from their numbers of tokens.

    Each has as many chunks as fit into `limit` tokens with one separator between two chunks. A chunk that is longer
    than `limit` is a window of its own.
    """
    windows, start, total = [], 0, 0
    for position, length in enumerate(lengths):
        if position > start and total + 1 + length > limit:
            windows.append(range(start, position))
            start = position
        total = length if position == start else total + 1 + length
    return [*windows, range(start, len(lengths))] if lengths else []


def join_chunks(chunks: Sequence[Ids], separator: int) -> tuple[Integers, Floats]:
    """The ids (T,) of one sequence of all chunks (C), and (C, T) 1 where a token belongs to a chunk, else 0.

    A separator belongs to no chunk.
    """
    ids = [number for chunk in chunks for number in (*chunk, separator)][:-1]
    belongs = np.zeros((len(chunks), len(ids)), np.float32)
    start = 0
    for row, chunk in enumerate(chunks):
        belongs[row, start : start + len(chunk)] = 1
        start += len(chunk) + 1
    return np.array(ids, np.int64), belongs

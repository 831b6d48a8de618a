"""The chunks of a batch in windows of their documents, for models that read them together."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.data.training_batch import Tokens, Windows, padded


def first_copies(texts: Sequence[str], siblings: Tensor) -> NDArray[np.int64]:
    """(D,) the number of the first text that equals each text and is of the same document; `siblings` (D,)."""
    first: dict[tuple[int, str], int] = {}
    keys = zip(siblings.tolist(), texts, strict=True)
    return np.array([first.setdefault(key, number) for number, key in enumerate(keys)], np.int64)


def make_windows(
    chunks: Tokens, siblings: Tensor, places: Sequence[int], copies: NDArray[np.int64], limit: int
) -> Windows:
    """The windows of D chunks, with at most `limit` tokens each; a longer chunk is a window of its own.

    `siblings` (D,) are equal for chunks of one document, and `places` (D,) order them. A chunk that equals an earlier
    one, by `copies` (D,), is read once.
    """
    lengths = chunks.mask.sum(1).tolist()
    numbers = siblings.tolist()
    order = sorted(np.unique(copies).tolist(), key=lambda row: (numbers[row], places[row], row))
    windows: list[list[int]] = []
    used = 0
    for row in order:
        continues = bool(windows) and numbers[windows[-1][0]] == numbers[row] and used + lengths[row] <= limit
        if not continues:
            windows.append([])
            used = 0
        windows[-1].append(row)
        used += lengths[row]
    n_chunks = max(map(len, windows))
    at = np.zeros(len(lengths), np.int64)
    for number, window in enumerate(windows):
        at[window] = number * n_chunks + np.arange(len(window))
    ids = [np.concatenate([chunks.ids[row, : lengths[row]].numpy() for row in window]) for window in windows]
    chunk_of = [np.repeat(np.arange(len(window)), [lengths[row] for row in window]) for window in windows]
    tokens = padded(ids)
    belongs = torch.where(tokens.mask > 0, padded(chunk_of).ids, -1)
    return Windows(tokens, belongs, torch.from_numpy(at[copies]), n_chunks)

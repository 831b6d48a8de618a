"""Relevant documents of other pairs, which a batch would count as wrong (CDE equation 4)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats

Mask = NDArray[np.bool_]


def false_negatives(
    scores: Floats, queries: Sequence[str], documents: Sequence[str], eps: float, first: int = 0
) -> Mask:
    """(R, D) mask, true if document j must not count against query `first` + i.

    `scores` (R, D) are those of the surrogate for R consecutive queries out of B; document i < B belongs to query i.
    A document is masked if its score exceeds that of the query's own document by more than `eps` times that score, if
    its text equals that of the own document, or if it belongs to the same query. The own document is never masked.
    """
    row = np.arange(len(scores))
    mine = first + row
    own = scores[row, mine][:, None]
    mask: Mask = scores > own + eps * np.abs(own)
    texts = np.array([hash(text) for text in documents])
    query_hashes = np.array([hash(text) for text in queries])
    mask |= texts[None, :] == texts[mine, None]
    mask[:, : len(query_hashes)] |= query_hashes[None, :] == query_hashes[mine, None]
    mask[row, mine] = False
    return mask

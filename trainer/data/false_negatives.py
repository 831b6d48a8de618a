"""Relevant documents that a batch would count as wrong (CDE equation 4)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats

Mask = NDArray[np.bool_]


def false_negatives(
    scores: Floats, queries: Sequence[str], documents: Sequence[str], eps: float, first: int = 0
) -> Mask:
    """(R, D) True where document j must not count against query `first` + i.

    `scores` (R, D) are the surrogate's for R of the B `queries` in a row; document i < B is query i's own. Masked is
    what the surrogate likes better than the own document by more than `eps` of its score, the own document's text
    wherever else it stands, and the documents of pairs with the same query. The own document never is.
    """
    row = np.arange(len(scores))
    mine = first + row
    own = scores[row, mine][:, None]
    mask: Mask = scores > own + eps * np.abs(own)
    texts = np.array([hash(text) for text in documents])
    asked = np.array([hash(text) for text in queries])
    mask |= texts[None, :] == texts[mine, None]
    mask[:, : len(asked)] |= asked[None, :] == asked[mine, None]
    mask[row, mine] = False
    return mask

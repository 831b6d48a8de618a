"""The documents that a system finds for each query, best first."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Run = Mapping[str, Sequence[str]]  # query to documents, best first


def ranked(ids: Sequence[str], scores: NDArray[np.floating], own: str, k: int) -> list[str]:
    """The `k` best ids without that of the query itself, as BEIR has it for ArguAna; equal scores are sorted by id."""
    n = min(k + 1, len(ids))
    edge = np.partition(-scores, n - 1)[n - 1]
    best = sorted((-scores[row], ids[row]) for row in np.flatnonzero(-scores <= edge).tolist())
    return [name for _, name in best if name != own][:k]

"""Dense and text ranks to one ranking."""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def fuse(dense: Scores, text: Scores) -> Scores:
    """Sum of both sides' z-scores over the same candidates, (n,) each.

    `text` holds NaN for candidates that the full-text search did not return: next to no BM25, so they count as zero.
    A side whose scores are all alike says nothing and adds zero.
    """
    return _z(dense) + _z(np.nan_to_num(text, nan=0.0))


def _z(scores: Scores) -> Scores:
    spread = float(scores.std()) if len(scores) else 0.0
    return np.zeros_like(scores) if spread < 1e-9 else (scores - scores.mean()) / spread

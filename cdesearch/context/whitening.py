"""Closed-form statistics of a corpus: whitening and token weights."""

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import Floats, TokenFrequencies
from cdesearch.context.document import to_unit
from cdesearch.models.config import StatisticsConfig


def whitening(pooled: Floats, config: StatisticsConfig) -> tuple[Floats, Floats]:
    """Shift (d,) and projection (d, d) of soft whitening, from pooled unit vectors (n, d) of the corpus.

    With fewer than two vectors there is nothing to measure: no shift, identity projection. The same where the head is
    off, to the last digit.
    """
    d = pooled.shape[1]
    if len(pooled) < 2 or config.shift == config.power == 0:
        return np.zeros(d, np.float32), np.eye(d, dtype=np.float32)
    points = pooled.astype(np.float64)
    mean = points.mean(axis=0)
    eigenvalues, eigenvectors = np.linalg.eigh(np.cov(points, rowvar=False, bias=True))
    eigenvalues = np.maximum(eigenvalues, 0)
    scale = eigenvalues + config.ridge * max(float(eigenvalues.mean()), 1e-12)
    projection = eigenvectors * (scale / scale.mean()) ** -config.power
    # Rotated back, so that the result does not depend on the sign or order of eigenvectors.
    return (config.shift * mean).astype(np.float32), (projection @ eigenvectors.T).astype(np.float32)


def move(vectors: Floats, shift: Floats, projection: Floats) -> Floats:
    """The unit vectors of `vectors` (n, d), minus `shift` (d,), times `projection` (d, d)."""
    moved: Floats = ((vectors - shift) @ projection).astype(np.float32)
    return to_unit(moved)


def idf_weights(frequencies: TokenFrequencies, special: NDArray[np.int64], exponent: float) -> Floats:
    """(V,) weights (idf + 0.5) ** exponent for pooling; special tokens take the median of the tokens that occur."""
    counts = frequencies.counts.astype(np.float64)
    idf = np.log(1 + (frequencies.n_texts - counts + 0.5) / (counts + 0.5))
    weights = (idf + 0.5) ** exponent
    occurring = np.setdiff1d(np.flatnonzero(counts), special)
    if len(occurring):
        weights[special] = np.median(weights[occurring])
    return weights.astype(np.float32)

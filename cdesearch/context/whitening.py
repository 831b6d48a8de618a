"""Whitening: shift and projection from the mean and covariance of a corpus, in closed form."""

from dataclasses import dataclass

import numpy as np

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.models.config import StatisticsConfig


@dataclass(frozen=True, slots=True)
class Whitening:
    """The statistics head's map of a pooled vector x: (x - shift) @ projection, normalised."""

    shift: Floats  # (d,)
    projection: Floats  # (d, d)

    @classmethod
    def identity(cls, d: int) -> "Whitening":
        """No shift, and the identity as projection."""
        return cls(np.zeros(d, np.float32), np.eye(d, dtype=np.float32))

    @property
    def dimension(self) -> int:
        return int(self.projection.shape[1])

    def apply(self, vectors: Floats) -> Floats:
        """(m, d) whitened unit vectors of `vectors` (m, d)."""
        whitened: Floats = ((vectors - self.shift) @ self.projection).astype(np.float32)
        return to_unit(whitened)


def soft_whitening(pooled: Floats, config: StatisticsConfig, typical_mean: Floats | None = None) -> Whitening:
    """The whitening of a corpus, from pooled unit vectors (n, d) of its texts and the mean (d,) of many corpora.

    Exactly the identity if there are fewer than two vectors, or none beside a typical mean, or if shift and power of
    the head are zero. Few vectors say little about a corpus, and their mean and covariance have much of each of them.
    So the mean is that of the n vectors and of `half_at` more, whose mean is the typical one, or zero. The power is
    multiplied by n / (n + `half_at`).
    """
    if len(pooled) < (2 if typical_mean is None else 1) or config.shift == config.power == 0:
        return Whitening.identity(pooled.shape[1])
    reached = len(pooled) / (len(pooled) + config.half_at)
    points = pooled.astype(np.float64)
    mean = reached * points.mean(axis=0) + (1 - reached) * (0 if typical_mean is None else typical_mean)
    eigenvalues, eigenvectors = np.linalg.eigh(np.atleast_2d(np.cov(points, rowvar=False, bias=True)))
    eigenvalues = np.maximum(eigenvalues, 0)
    scale = eigenvalues + max(config.ridge, 1e-9) * max(float(eigenvalues.mean()), 1e-12)
    projection = eigenvectors * (scale / scale.mean()) ** (-config.power * reached)
    # Rotated back, so that the result does not depend on the sign or order of the eigenvectors.
    return Whitening((config.shift * mean).astype(np.float32), (projection @ eigenvectors.T).astype(np.float32))

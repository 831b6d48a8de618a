"""Whitening: shift and projection from the mean and covariance of a corpus, in closed form.

The projection may also reduce vectors to the first principal components of the corpus.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.models.config import StatisticsConfig

# Of the largest eigenvalue: float32 vectors have smaller ones even in directions that they do not span.
NO_LENGTH = 1e-9


@dataclass(frozen=True, slots=True)
class Whitening:
    """The statistics head's map of a pooled vector x: (x - shift) @ projection, normalised."""

    shift: Floats  # (d,)
    projection: Floats  # (d, n), n <= d

    @classmethod
    def identity(cls, d: int) -> "Whitening":
        """No shift, and the identity as projection."""
        return cls(np.zeros(d, np.float32), np.eye(d, dtype=np.float32))

    @property
    def dimension(self) -> int:
        """The number of dimensions of whitened vectors."""
        return int(self.projection.shape[1])

    def apply(self, vectors: Floats) -> Floats:
        """(m, n) whitened unit vectors of `vectors` (m, d)."""
        whitened: Floats = ((vectors - self.shift) @ self.projection).astype(np.float32)
        return to_unit(whitened)

    def reduced(self, pooled: Floats, dimension: int) -> "Whitening":
        """This whitening, followed by a projection onto principal components of pooled unit vectors (m, d).

        The components are those of the whitened vectors, so that as much as possible of their cosines is kept.
        """
        axes = principal_axes(self.apply(pooled), dimension)
        return Whitening(self.shift, (self.projection.astype(np.float64) @ axes).astype(np.float32))


def soft_whitening(pooled: Floats, config: StatisticsConfig) -> Whitening:
    """The whitening of a corpus, from pooled unit vectors (n, d) of its texts.

    Exactly the identity if there are fewer than two vectors, or if shift and power of the head are zero. With `half_at`
    it differs from the identity the less, the fewer vectors there are, because few vectors say little about a corpus.
    """
    if len(pooled) < 2 or config.shift == config.power == 0:
        return Whitening.identity(pooled.shape[1])
    reached = len(pooled) / (len(pooled) + config.half_at)
    points = pooled.astype(np.float64)
    mean = points.mean(axis=0)
    eigenvalues, eigenvectors = np.linalg.eigh(np.atleast_2d(np.cov(points, rowvar=False, bias=True)))
    eigenvalues = np.maximum(eigenvalues, 0)
    scale = eigenvalues + config.ridge * max(float(eigenvalues.mean()), 1e-12)
    projection = eigenvectors * (scale / scale.mean()) ** (-config.power * reached)
    # Rotated back, so that the result does not depend on the sign or order of the eigenvectors.
    return Whitening(
        (config.shift * reached * mean).astype(np.float32), (projection @ eigenvectors.T).astype(np.float32)
    )


def principal_axes(vectors: Floats, count: int) -> NDArray[np.float64]:
    """(d, count) orthonormal axes along which vectors (m, d) are longest, the longest first.

    If the vectors span fewer dimensions than `count`, the axes of the space follow in their order, each without its
    part along earlier axes. The largest component of each axis is positive, so that the same vectors always give the
    same axes.
    """
    points = vectors.astype(np.float64)
    lengths, axes = np.linalg.eigh(points.T @ points)
    n_spanned = int((lengths > NO_LENGTH * max(float(lengths[-1]), NO_LENGTH)).sum())
    chosen = axes[:, ::-1][:, : min(n_spanned, count)]
    if n_spanned < count:
        chosen = np.linalg.qr(np.hstack([chosen, np.eye(len(axes))]))[0][:, :count]
    largest = chosen[np.abs(chosen).argmax(axis=0), np.arange(count)]
    signed: NDArray[np.float64] = chosen * np.where(largest < 0, -1.0, 1.0)
    return signed

"""Principal components: vectors of many dimensions as points of a plane, for a map."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats


@dataclass(frozen=True, slots=True)
class Projection:
    """The plane in which a set of vectors varies most."""

    mean: NDArray[np.float64]  # (d,) the origin of the plane
    axes: NDArray[np.float64]  # (2, d) orthonormal; zero where the vectors do not vary
    explained: tuple[float, float]  # the share of the variance along each axis

    @classmethod
    def fit(cls, vectors: Floats) -> Self:
        """The first two principal components of vectors (n, d), n > 0.

        The largest component of each axis is positive, so that the same vectors always give the same map.
        """
        mean = vectors.mean(axis=0, dtype=np.float64)
        _, values, directions = np.linalg.svd(vectors - mean, full_matrices=False)
        axes, variances = np.zeros((2, vectors.shape[1])), np.zeros(2)
        known = min(2, int((values > 1e-6).sum()))
        axes[:known], variances[:known] = directions[:known], values[:known] ** 2
        largest = axes[np.arange(2), np.abs(axes).argmax(axis=1)]
        axes *= np.where(largest < 0, -1.0, 1.0)[:, None]
        total = float((values**2).sum())
        first, second = (variances / total if known else variances).tolist()
        return cls(mean, axes, (first, second))

    def apply(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """(n, 2) coordinates of vectors (n, d)."""
        points: NDArray[np.float64] = (vectors - self.mean) @ self.axes.T
        return points

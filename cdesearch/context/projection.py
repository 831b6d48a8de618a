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
        centred = vectors - mean
        # The covariance has d rows, and its singular vectors are those of the n centred vectors.
        directions, variances, _ = np.linalg.svd(centred.T @ centred / len(vectors))
        total = float(variances.sum())
        is_axis = variances[:2] > 1e-9 * max(total, 1e-9)
        axes = np.zeros((2, len(mean)))
        axes[: len(is_axis)] = directions.T[:2] * is_axis[:, None]
        largest = axes[np.arange(2), np.abs(axes).argmax(axis=1)]
        axes *= np.where(largest < 0, -1.0, 1.0)[:, None]
        shares = [float(share) / total if total > 1e-9 else 0.0 for share in variances[:2]]
        first, second = [*shares, 0.0][:2]  # vectors of one dimension have only one axis
        return cls(mean, axes, (first, second))

    def apply(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """(n, 2) coordinates of vectors (n, d)."""
        points: NDArray[np.float64] = (vectors - self.mean) @ self.axes.T
        return points

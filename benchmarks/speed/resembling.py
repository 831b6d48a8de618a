"""Vectors that resemble those of many real texts, so that recall can be measured in an index of any size."""

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit

NEIGHBOURS = 10
PARTS_SEARCHED = 12  # of the square root of n parts, in which neighbours are looked for
TRAINED_PER_PART = 40


class Resembling:
    """Draws unit vectors between real vectors and one of their nearest.

    In 439,196 vectors that were drawn between a tenth of so many real ones, each number of parts of an index holds the
    same share of the nearest vectors as in 439,196 real ones, within .011 (benchmarks/results/LOG.md).
    """

    def __init__(self, vectors: Floats) -> None:
        """`vectors` (n, d) have n > 1."""
        unit = to_unit(vectors)
        self._neighbours = _neighbours(unit, min(NEIGHBOURS, len(unit) - 1))
        self._vectors = unit.astype(np.float16)

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """Draw unit vectors (n, d)."""
        first = random.integers(len(self._vectors), size=n)
        second = self._neighbours[first, random.integers(self._neighbours.shape[1], size=n)]
        share = random.random((n, 1), np.float32)
        return to_unit((1 - share) * self._vectors[first] + share * self._vectors[second])


def _neighbours(vectors: Floats, k: int) -> NDArray[np.int64]:
    """The numbers (n, k) of the nearest other vectors of each of `vectors` (n, d), most of which faiss finds."""
    import faiss

    n, d = vectors.shape
    n_parts = max(1, round(n**0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(d), d, n_parts, faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).permutation(n)[: TRAINED_PER_PART * n_parts]
    index.train(vectors[sample])
    index.add(vectors)
    index.nprobe = PARTS_SEARCHED
    found = index.search(vectors, k + 1)[1]
    # A vector need not be its own first neighbour, because others may be equal to it.
    is_other = found != np.arange(n)[:, None]
    is_other[is_other.all(axis=1), -1] = False
    others: NDArray[np.int64] = found[is_other].reshape(n, k)
    return np.where(others < 0, np.arange(n)[:, None], others)

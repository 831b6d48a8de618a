"""Raise candidates whose nearest candidates are similar to the query, too, and lower those whose nearest are not.

Similar chunks are relevant to the same queries (the cluster hypothesis), so the evidence for the nearest chunks of a
chunk is evidence for it: score regularization (Diaz 2005). The constants were chosen on development sets, see
benchmarks/results/LOG.md.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit

Scores = NDArray[np.floating[Any]]

COMPARED = 50  # candidates with the highest scores, among which each has its neighbours
NEAREST = 10  # of them, which are the neighbours of a candidate
SHARPNESS = 25.0  # factor of cosines in the softmax that weights the neighbours
SHARE = 0.2  # of the dense evidence of a candidate that is the mean of its neighbours
SAME = 0.9999  # cosine above which two chunks have the same text, which is no further evidence


def mean_of_neighbours(evidence: Scores, vectors: Floats, scores: Scores) -> Scores:
    """(n,) the weighted mean of the evidence (n,) for the neighbours of each candidate.

    The neighbours are the nearest ones by the vectors (n, d) among the COMPARED candidates with the highest scores
    (n,). A candidate that is not among these, or has no vector, keeps its own evidence.
    """
    best = np.argsort(-scores, kind="stable")[:COMPARED]
    unit = to_unit(vectors[best])
    cosines = unit @ unit.T
    has_none = np.abs(unit).max(axis=1, initial=0) == 0
    cosines[(cosines > SAME) | has_none | has_none[:, None]] = -np.inf
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    weights = np.exp(SHARPNESS * (np.take_along_axis(cosines, nearest, axis=1) - 1))
    total = weights.sum(axis=1)
    found: Scores = evidence.copy()
    means = (weights * evidence[best[nearest]]).sum(axis=1) / np.where(total > 0, total, 1)
    found[best] = np.where(total > 0, means, evidence[best])
    return found

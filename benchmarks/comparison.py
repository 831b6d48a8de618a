"""The uncertainty of a mean over queries, and of the difference of two systems."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.evaluation.measures import bootstrap_interval

FLIPS = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference of two systems over the same queries."""

    difference: float
    low: float  # the lower end of the 95% bootstrap interval
    high: float
    p: float  # of a two-sided paired randomisation test


def compare(one: NDArray[np.float64], other: NDArray[np.float64], seed: int = 0) -> Comparison:
    """Compare two systems query by query."""
    random = np.random.default_rng(seed)
    gains = one - other
    flipped = np.array([(gains * random.choice((-1.0, 1.0), len(gains))).mean() for _ in range(FLIPS)])
    low, high = bootstrap_interval(gains, random)
    as_far = int((np.abs(flipped) >= abs(gains.mean()) - 1e-12).sum())
    return Comparison(float(gains.mean()), low, high, (as_far + 1) / (FLIPS + 1))

"""Measures of the ranks of right answers, and the uncertainty of their means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DEPTH = 10  # hits that count
RESAMPLES = 2_000

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a measure over questions, with its 95% interval."""

    value: float
    low: float
    high: float


def measure_ranks(ranks: Sequence[int | None]) -> dict[str, Values]:
    """Each measure x 100 for every question (n,). A rank begins with 1; None if no right answer was found."""
    reached = np.array([0.0 if rank is None or rank > DEPTH else 100.0 / rank for rank in ranks])
    return {
        "hit@1": np.where(reached >= 100.0, 100.0, 0.0),
        "hit@3": np.where(reached > 100.0 / 4, 100.0, 0.0),
        f"MRR@{DEPTH}": reached,
    }


def mean_of(values: Values) -> Mean:
    """The mean of `values` (n,), n > 0. The interval is the same in every call."""
    return Mean(float(values.mean()), *bootstrap_interval(values, np.random.default_rng(0)))


def bootstrap_interval(values: Values, random: np.random.Generator) -> tuple[float, float]:
    """The 95% interval of the mean of `values` (n,) by the percentiles of resampled means."""
    drawn = [values[random.integers(len(values), size=len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)

"""Measures of rankings, the uncertainty of their mean over queries, and of the difference of two systems."""

from collections.abc import Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Judgements
from benchmarks.systems.system import Run
from cdesearch.evaluation.measures import bootstrap_interval

MEASURES = ("nDCG@10", "R@100", "RR@10", "AP")
FLIPS = 10_000


def measure_run(judgements: Judgements, run: Run, measures: Sequence[str] = MEASURES) -> dict[str, NDArray[np.float64]]:
    """Each measure x 100 for every judged query, in the order of `judgements`, computed by ir-measures.

    Ranks are passed as scores, which keeps the order of the system. A query without results counts as 0.
    """
    scored = {query: {document: float(-rank) for rank, document in enumerate(found)} for query, found in run.items()}
    positions = {query: position for position, query in enumerate(judgements)}
    found = {name: np.zeros(len(positions)) for name in measures}
    grades = {query: dict(row) for query, row in judgements.items()}
    for value in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in measures], grades, scored):
        found[str(value.measure)][positions[value.query_id]] = 100 * value.value
    return found


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

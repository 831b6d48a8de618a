"""Measures of rankings."""

from collections.abc import Sequence

import ir_measures
import numpy as np
from numpy.typing import NDArray

from benchmarks.systems.ranking import Run
from trainer.data.pairs.beir import Judgements

MEASURES = ("nDCG@10", "R@100", "RR@10", "AP")


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

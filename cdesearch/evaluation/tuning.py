"""Choose the weight of text of one index by questions, only if the gain on questions held out is significant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.evaluation.measures import DEPTH, Mean, mean_of, measure_ranks
from cdesearch.evaluation.ranking import Asked, by_both
from cdesearch.search.fusion import TEXT_WEIGHT, EvidenceFusion

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # of the default weight
FOLDS = 5
MEASURE = f"MRR@{DEPTH}"
MIN_QUESTIONS = 20

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What the weights in question reach, and which of them is chosen."""

    weights: tuple[float, ...]
    means: tuple[float, ...]  # MRR@10 x 100 of each weight over all questions
    current: float  # the weight in use
    best: float  # the weight that the questions prefer
    gain: Mean  # of a weight chosen by four fifths of the questions over the one in use, on the last fifth

    @property
    def is_significant(self) -> bool:
        """Whether the weight that the questions prefer is better beyond chance."""
        return self.best != self.current and self.gain.low > 0


def choose_weight(asked: Sequence[Asked], current: float) -> Tuning:
    """Compare the weights of a grid around the default with the one in use."""
    weights = tuple(sorted({current, *(factor * TEXT_WEIGHT for factor in FACTORS)}))
    scores = np.stack([_reached(asked, weight) for weight in weights])
    used = weights.index(current)
    random = np.random.default_rng(0)
    fold = random.permutation(len(asked)) % FOLDS
    gains = np.empty(len(asked))
    for one in range(FOLDS):
        out = fold == one
        gains[out] = (scores[_preferred(scores[:, ~out], used)] - scores[used])[out]
    best = weights[_preferred(scores, used)]
    return Tuning(weights, tuple(scores.mean(axis=1).tolist()), current, best, mean_of(gains))


def _reached(asked: Sequence[Asked], weight: float) -> Values:
    fusion = EvidenceFusion(weight)
    return measure_ranks([by_both(one, fusion) for one in asked])[MEASURE]


def _preferred(scores: Values, used: int) -> int:
    """Return the row of `scores` (weights, questions) to choose: of those near the best, the one next to `used`.

    A weight is near the best if its mean loss to the best is within one standard error of that loss.
    """
    best = int(scores.mean(axis=1).argmax())
    loss = scores[best] - scores
    error = loss.std(axis=1) / np.sqrt(scores.shape[1])
    near = np.flatnonzero(loss.mean(axis=1) <= error)
    return int(near[np.abs(near - used).argmin()])

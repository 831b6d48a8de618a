"""Which mean of the start and the adapted model is the result: the one that held-out sentences choose, if any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Of the adapted model; 0 is the start. Above a half, hybrid search loses its gain on development corpora.
SHARES = (0.0, 0.25, 0.5)
CONFIDENCE = 0.95
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """The share, 0 if nothing was gained; the mean reciprocal ranks of the start and of the best share, x 100."""

    share: float
    best: float  # the share with the highest mean among those above 0
    before: float
    after: float
    bound: float  # which the gain of `best` exceeds with a probability of CONFIDENCE


def choose_share(ranks: Mapping[float, Sequence[float]]) -> Chosen:
    """Choose from the reciprocal ranks (n,) of the same questions by share.

    The bound is a percentile of the resampled mean differences between a share and the start. Because the best of
    several shares is chosen, each is allowed only its part of the error (Bonferroni). A share is only the result if its
    bound is above 0, so that the result is not worse than the start on such questions, with this probability.
    """
    start = np.array(ranks[0.0], np.float64)
    others = [share for share in SHARES if share > 0]
    best = max(others, key=lambda share: float(np.mean(ranks[share])))
    gains = 100 * (np.array(ranks[best], np.float64) - start)
    random = np.random.default_rng(0)
    means = gains[random.integers(len(gains), size=(RESAMPLES, len(gains)))].mean(1)
    bound = float(np.percentile(means, 100 * (1 - CONFIDENCE) / len(others)))
    share = best if bound > 0 else 0.0
    return Chosen(share, best, 100 * float(start.mean()), 100 * float(np.mean(ranks[best])), bound)

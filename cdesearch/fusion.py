"""Dense and text evidence to one ranking."""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# Chosen on half of the queries of six sets, see benchmarks/results/choices-2026-11.md.
TEXT_WEIGHT = 3.5
NOISE_RANK = 100  # the text score at this rank is noise: a word or two that many chunks share
FEWEST_NULL = 16  # context chunks; of fewer, as in an index that began small, the candidates are the null
FEW_STAND_OUT = 3.0  # where text finds fewer, its best is at least so many times the noise


def fuse(dense: Scores, text: Scores, null: Scores) -> Scores:
    """How far each candidate stands out from chance on both sides, added: (n,) from (n,) cosines and BM25 scores.

    Dense: in standard deviations from the mean of `null`, the query's cosines with the context chunks, which nobody
    chose for this query. Text: the logarithm of its ratio to the noise, so that a query whose words are everywhere
    leaves the ranking to the vectors. `text` holds NaN where full text did not find the candidate.
    """
    null = null if len(null) >= FEWEST_NULL else dense
    spread = float(null.std()) if len(null) else 0.0
    stands_out = np.zeros_like(dense) if spread < 1e-9 else (dense - null.mean()) / spread
    return stands_out + TEXT_WEIGHT * _over_noise(text)


def _over_noise(text: Scores) -> Scores:
    """log(score / noise), zero for what is not above it."""
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return np.zeros_like(text)
    noise = found[NOISE_RANK - 1] if len(found) >= NOISE_RANK else min(found[-1], found[0] / FEW_STAND_OUT)
    evidence: Scores = np.log(np.maximum(np.nan_to_num(text, nan=0.0) / noise, 1.0))
    return evidence

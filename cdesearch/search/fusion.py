"""Dense and text evidence to one ranking."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# Chosen on half of the queries of six sets; PART_WEIGHT on other long documents. See benchmarks/results/LOG.md.
TEXT_WEIGHT = 18.0
PART_WEIGHT = 9.0  # of text where chunks are parts of a document: their vectors know whose they are, their words do not
NOISE_RANK = 100  # the text score at this rank is noise: a word or two that many chunks share
FEWEST_NULL = 16  # context chunks; of fewer, as in an index that began small, the candidates are the null
LEAST_DEVIATION = 1.0  # of the best candidate; a query that nothing is near to is no reason to trust words more
FEW_STAND_OUT = 3.0  # where text finds fewer, its best is at least so many times the noise


def fuse(dense: Scores, text: Scores, null: Scores, documents: Sequence[str] | None = None) -> Scores:
    """How far each candidate stands out from chance on both sides, added: (n,) from (n,) cosines and BM25 scores.

    Text counts by how loud it is for this query: by the ratio of its best evidence to the best of the vectors'. Where
    no chunk's words stand out, the vectors are right more often.

    Dense: in standard deviations from the mean of `null`, the query's cosines with the context chunks, which nobody
    chose for this query. Text: the logarithm of its ratio to the noise, so that a query whose words are everywhere
    leaves the ranking to the vectors. `text` holds NaN where full text did not find the candidate.

    `documents` (n,) names each candidate's document, where chunks do not carry its title: half of a chunk's text
    evidence is then the best that its document has, and text counts for half as much.
    """
    null = null if len(null) >= FEWEST_NULL else dense
    spread = float(null.std()) if len(null) else 0.0
    stands_out = np.zeros_like(dense) if spread < 1e-9 else (dense - null.mean()) / spread
    evidence, weight = _over_noise(text), TEXT_WEIGHT
    if documents is not None:
        weight = PART_WEIGHT
        evidence = (evidence + _best_of_document(evidence, documents)) / 2
    loudness = evidence.max(initial=0.0) / max(LEAST_DEVIATION, stands_out.max(initial=0.0))
    fused: Scores = stands_out + weight * loudness * evidence
    return fused


def _best_of_document(evidence: Scores, documents: Sequence[str]) -> Scores:
    _, places = np.unique(np.asarray(documents), return_inverse=True)
    best = np.zeros(len(evidence))
    np.maximum.at(best, places, evidence)
    return best[places]


def _over_noise(text: Scores) -> Scores:
    """log(score / noise), zero for what is not above it."""
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return np.zeros_like(text)
    noise = found[NOISE_RANK - 1] if len(found) >= NOISE_RANK else min(found[-1], found[0] / FEW_STAND_OUT)
    evidence: Scores = np.log(np.maximum(np.nan_to_num(text, nan=0.0) / noise, 1.0))
    return evidence

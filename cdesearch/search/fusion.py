"""Dense and lexical scores to one ranking.

A new way to fuse is a class with the protocol `Fusion` and a line in `FUSIONS`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating[Any]]

# Chosen on half of the queries of six sets; PART_WEIGHT on other long documents. See benchmarks/results/LOG.md.
TEXT_WEIGHT = 18.0
PART_WEIGHT = 9.0  # where chunks are parts of a document: their vectors know their document, their words do not
NOISE_RANK = 100  # the BM25 score at this rank is noise: a word or two that many chunks share
FEWEST_NULL = 16  # context chunks; with fewer, as in an index that began small, the candidates are the null
LEAST_DEVIATION = 1.0  # of the best candidate; a query that nothing is near to is no reason to trust words more
FEWEST_RATIO = 3.0  # where full text finds few candidates, its best score is at least so many times the noise
OVERSAMPLE = 3  # the graph index ranks by rounded vectors: the exact cosines choose among so many times k


@dataclass(frozen=True, slots=True)
class Candidates:
    """What both sides know of the candidates of one query."""

    dense: Scores  # (n,) cosines
    text: Scores  # (n,) BM25; NaN where full text did not find the candidate
    null: Scores  # (J,) the query's cosines with the context chunks
    documents: Sequence[str] | None = None  # (n,) where chunks are parts of documents and do not carry their title


class Fusion(Protocol):
    """A way to rank candidates by both sides."""

    def dense_depth(self, k: int) -> int:
        """How many of the nearest chunks must be candidates for `k` hits."""

    def text_depth(self, k: int) -> int:
        """How many of the chunks with the highest BM25 scores must be candidates for `k` hits."""

    def scores(self, candidates: Candidates) -> Scores:
        """(n,), higher is better."""


class EvidenceFusion:
    """How far a candidate lies above chance on both sides, added, with a weight for text by query.

    Dense: in standard deviations from the mean of `null`, a null distribution that does not depend on the query. Text:
    the logarithm of the ratio of the BM25 score to the noise, so that a query of everyday words leaves the ranking to
    the vectors. Text counts by the ratio of its best evidence to the best of the vectors': where no chunk's words are
    distinctive, the vectors are right more often.

    With `documents`, half of a chunk's text evidence is the best that its document has, and text counts for less.
    """

    def dense_depth(self, k: int) -> int:
        """A chunk without text evidence must be among the k nearest to be a hit."""
        return OVERSAMPLE * k

    def text_depth(self, k: int) -> int:
        """Below the noise rank there is no text evidence."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """(n,) dense_z + weight of text for the query * evidence of the words."""
        dense, null = candidates.dense, candidates.null
        null = null if len(null) >= FEWEST_NULL else dense
        spread = float(null.std()) if len(null) else 0.0
        dense_z = np.zeros_like(dense) if spread < 1e-9 else (dense - null.mean()) / spread
        evidence, weight = _log_over_noise(candidates.text), TEXT_WEIGHT
        if candidates.documents is not None:
            weight = PART_WEIGHT
            evidence = (evidence + _best_of_document(evidence, candidates.documents)) / 2
        query_weight = evidence.max(initial=0.0) / max(LEAST_DEVIATION, dense_z.max(initial=0.0))
        fused: Scores = dense_z + weight * query_weight * evidence
        return fused


class ZScoreFusion:
    """The sum of both sides' z-scores over the candidates; what full text did not find has the score zero.

    The trainer's surrogate scores a whole batch with it, so `dense` and `text` may be (Q, n).
    """

    def dense_depth(self, k: int) -> int:
        """As deep as text, so that both sides have a mean and a spread."""
        return max(k, NOISE_RANK)

    def text_depth(self, k: int) -> int:
        """As deep as dense."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """(n,) or (Q, n)."""
        return _z(candidates.dense) + _z(np.nan_to_num(candidates.text, nan=0.0))


FUSIONS: dict[str, Fusion] = {"evidence": EvidenceFusion(), "z-score": ZScoreFusion()}
DEFAULT_FUSION = "evidence"


def _best_of_document(evidence: Scores, documents: Sequence[str]) -> Scores:
    _, indices = np.unique(np.asarray(documents), return_inverse=True)
    best = np.zeros(len(evidence))
    np.maximum.at(best, indices, evidence)
    return best[indices]


def _log_over_noise(text: Scores) -> Scores:
    """log(score / noise), zero for what is not above it."""
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return np.zeros_like(text)
    noise = found[NOISE_RANK - 1] if len(found) >= NOISE_RANK else min(found[-1], found[0] / FEWEST_RATIO)
    evidence: Scores = np.log(np.maximum(np.nan_to_num(text, nan=0.0) / noise, 1.0))
    return evidence


def _z(scores: Scores) -> Scores:
    spread = scores.std(axis=-1, keepdims=True)
    z: Scores = (scores - scores.mean(axis=-1, keepdims=True)) / np.maximum(spread, 1e-6)
    return z

"""Fusions with a fixed weight of text, to be compared with that of the product."""

from dataclasses import dataclass

import numpy as np

from cdesearch.search.fusion import MIN_NULL_SIZE, NOISE_RANK, OVERSAMPLE, Candidates, Scores


@dataclass(frozen=True, slots=True)
class WeightedZ:
    """The z-score of the cosine plus a fixed weight times the z-score of the BM25 score.

    Cosines are measured against the query's cosines with the context (`by_context`) or against those of the
    candidates. BM25 scores are measured against those of the candidates, where a missing score counts as zero.
    """

    text_weight: float
    by_context: bool = True

    def dense_depth(self, k: int) -> int:
        """Return what the product reads."""
        return max(OVERSAMPLE * k, NOISE_RANK)

    def text_depth(self, k: int) -> int:
        """Return what the product reads."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """Return the fused scores (n,)."""
        dense, text = candidates.dense, np.nan_to_num(candidates.text, nan=0.0)
        null = candidates.null if self.by_context and len(candidates.null) >= MIN_NULL_SIZE else dense
        return _z(dense, null) + self.text_weight * _z(text, text)


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The z-score of the cosine against the query's cosines with the context, plus a fixed weight times BM25.

    BM25 is a sum over words of the query, and not measured against other candidates. Queries of many rare words
    therefore give text more weight. The caller divides the scores by the expected idf of the corpus' words.
    """

    text_weight: float

    def dense_depth(self, k: int) -> int:
        """Return what the product reads."""
        return max(OVERSAMPLE * k, NOISE_RANK)

    def text_depth(self, k: int) -> int:
        """Return what the product reads."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """Return the fused scores (n,)."""
        null = candidates.null if len(candidates.null) >= MIN_NULL_SIZE else candidates.dense
        fused: Scores = _z(candidates.dense, null) + self.text_weight * np.nan_to_num(candidates.text, nan=0.0)
        return fused


def _z(scores: Scores, null: Scores) -> Scores:
    z: Scores = (scores - null.mean()) / max(float(null.std()), 1e-6)
    return z

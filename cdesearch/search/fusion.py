"""Fusion combines dense and lexical scores into one ranking.

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
PART_WEIGHT = 9.0  # if chunks are parts of a document: vectors include document context, words do not
NOISE_RANK = 100  # the BM25 score at this rank is noise: a word or two that many chunks share
MIN_NULL_SIZE = 16  # context chunks; with fewer, the candidates themselves are the null distribution
MIN_DENSE_Z = 1.0  # replaces a lower best dense evidence: distant chunks do not make words more reliable
MIN_RATIO = 3.0  # of the best BM25 score to the noise; it matters if full text finds few candidates
OVERSAMPLE = 3  # the graph index ranks by rounded vectors: the exact cosines choose among so many times k


@dataclass(frozen=True, slots=True)
class Candidates:
    """The dense and lexical scores of the candidates of one query."""

    dense: Scores  # (n,) cosines; NaN if the candidate has no vector yet
    text: Scores  # (n,) BM25; NaN if full text did not find the candidate
    null: Scores  # (J,) the query's cosines with the context chunks
    documents: Sequence[str] | None = None  # (n,) if chunks are parts of documents and do not contain their title


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `EvidenceFusion` adds to the score of each candidate."""

    dense_z: Scores  # (n,) for candidates without a vector, what their words let expect
    null_mean: float  # of the null distribution
    null_spread: float  # its standard deviation
    own: Scores  # (n,) the logarithm of the ratio of the BM25 score to the noise
    of_document: Scores | None  # (n,) the highest `own` of the candidate's document; None without `documents`
    noise: float  # a BM25 score; 0 if full text found nothing
    text_weight: float  # of this query

    @property
    def text(self) -> Scores:
        """(n,) lexical evidence."""
        return self.own if self.of_document is None else (self.own + self.of_document) / 2

    @property
    def scores(self) -> Scores:
        """(n,) the fused scores."""
        fused: Scores = self.dense_z + self.text_weight * self.text
        return fused


class Fusion(Protocol):
    """A method that combines dense and lexical scores."""

    def dense_depth(self, k: int) -> int:
        """How many of the nearest chunks must be candidates for `k` hits."""

    def text_depth(self, k: int) -> int:
        """How many of the chunks with the highest BM25 scores must be candidates for `k` hits."""

    def scores(self, candidates: Candidates) -> Scores:
        """(n,), higher is better."""


class EvidenceFusion:
    """The default: the sum of the evidence by vectors and by words that a candidate matches better than chance.

    The dense evidence is the cosine in standard deviations from the mean of `null`, the query's cosines with the
    context chunks. These chunks were sampled without regard to any query. The lexical evidence is the logarithm of
    the ratio of the BM25 score to the noise. It is multiplied by the query's text weight, the ratio of the best
    lexical evidence to the best dense evidence: if no chunk's words are distinctive, the vectors decide the ranking.

    With `documents`, half of a chunk's lexical evidence is the best of its document, and text counts for less.

    A candidate without a vector has the dense evidence that its words let expect: the same share of the best dense
    evidence as its lexical evidence is of the best lexical evidence. Without lexical evidence it is that of chance, 0.
    So such candidates are ranked by words, and the vectors of others neither raise nor lower them.
    """

    def dense_depth(self, k: int) -> int:
        """A chunk without lexical evidence can only be a hit if it is among the k nearest."""
        return OVERSAMPLE * k

    def text_depth(self, k: int) -> int:
        """Chunks below the noise rank have no lexical evidence."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """(n,) dense_z + text weight * lexical evidence."""
        return self.evidence(candidates).scores

    def evidence(self, candidates: Candidates) -> Evidence:
        """The parts of the scores."""
        dense, null = candidates.dense, candidates.null
        known = ~np.isnan(dense)
        null = null if len(null) >= MIN_NULL_SIZE else dense[known]
        spread = float(null.std()) if len(null) else 0.0
        dense_z = np.zeros_like(dense) if spread < 1e-9 else (dense - null.mean()) / spread
        own, noise = _log_over_noise(candidates.text)
        weight, best = TEXT_WEIGHT, None
        if candidates.documents is not None:
            weight, best = PART_WEIGHT, _best_of_document(own, candidates.documents)
        best_text = own if best is None else (own + best) / 2
        most_text = best_text.max(initial=0.0)
        most_dense = max(MIN_DENSE_Z, dense_z[known].max(initial=0.0))
        dense_z = np.where(known, dense_z, best_text * (most_dense / max(most_text, 1e-9)))
        query_weight = most_text / most_dense
        mean = float(null.mean()) if len(null) else 0.0
        return Evidence(dense_z, mean, spread, own, best, noise, weight * query_weight)


class ZScoreFusion:
    """The sum of the z-scores of both sides. A candidate that full text did not find has a BM25 score of zero.

    One without a vector has the mean cosine of the others. The arrays may be (Q, n) for Q queries with the same
    candidates, as the trainer has them.
    """

    def dense_depth(self, k: int) -> int:
        """Enough candidates for a mean and a standard deviation."""
        return max(k, NOISE_RANK)

    def text_depth(self, k: int) -> int:
        """Enough candidates for a mean and a standard deviation."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """(n,), or (Q, n) for arrays of this shape."""
        dense, known = candidates.dense, ~np.isnan(candidates.dense)
        if not known.all():
            total = np.where(known, dense, 0).sum(axis=-1, keepdims=True)
            dense = np.where(known, dense, total / np.maximum(known.sum(axis=-1, keepdims=True), 1))
        return _z(dense) + _z(np.nan_to_num(candidates.text, nan=0.0))


FUSIONS: dict[str, Fusion] = {"evidence": EvidenceFusion(), "z-score": ZScoreFusion()}
DEFAULT_FUSION = "evidence"


def _best_of_document(evidence: Scores, documents: Sequence[str]) -> Scores:
    _, indices = np.unique(np.asarray(documents), return_inverse=True)
    best = np.zeros(len(evidence))
    np.maximum.at(best, indices, evidence)
    return best[indices]


def _log_over_noise(text: Scores) -> tuple[Scores, float]:
    """log(score / noise), zero for scores that are not above the noise; and the noise."""
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return np.zeros_like(text), 0.0
    noise = found[NOISE_RANK - 1] if len(found) >= NOISE_RANK else min(found[-1], found[0] / MIN_RATIO)
    evidence: Scores = np.log(np.maximum(np.nan_to_num(text, nan=0.0) / noise, 1.0))
    return evidence, float(noise)


def _z(scores: Scores) -> Scores:
    spread = scores.std(axis=-1, keepdims=True)
    z: Scores = (scores - scores.mean(axis=-1, keepdims=True)) / np.maximum(spread, 1e-6)
    return z

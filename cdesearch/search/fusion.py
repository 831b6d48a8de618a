"""Fusion combines dense and lexical scores into one ranking.

It raises candidates whose nearest candidates are similar to the query, too, and lowers those whose nearest are not.
Similar chunks are relevant to the same queries (the cluster hypothesis), so the evidence for the nearest chunks of a
chunk is evidence for it: score regularization (Diaz 2005). The constants were chosen on development sets, see
benchmarks/results/LOG.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.token_signs import QueryTokens

Scores = NDArray[np.floating[Any]]

# Chosen on sixteen domains and on eight sets of long documents; see benchmarks/results/LOG.md.
TEXT_WEIGHT = 0.5  # of a standard deviation of the BM25 scores, relative to one of the cosines
EXACT_TEXT_WEIGHT = 1.5  # for a query that is one name, or consists of quoted phrases
POOL = 100  # the best BM25 scores, with 0 for those that are missing, from which the z-scores of all are computed
LEAST_SPREAD = 0.1  # of the best score; BM25 scores that hardly differ say nothing about which chunk is better
MIN_NULL_SIZE = 16  # with fewer context chunks, the candidates themselves are the null distribution
MIN_RATIO = 3.0  # the minimum ratio of the best BM25 score to the noise, for queries with few lexical candidates
RARITY = 0.5  # the power of the share of POOL that is found by which the noise of such queries is lower
# The weight of the vectors for a query in a language that the model does not read. It is above 0, so that chunks
# without words of the query are still ranked by their vectors.
BLIND_WEIGHT = 0.1
COMPARED = 50  # candidates with the highest scores, among which each has its neighbours
NEAREST = 10  # of them, which are the neighbours of a candidate
SHARPNESS = 25.0  # factor of cosines in the softmax that weights the neighbours
SHARE = 0.2  # of the dense evidence of a candidate that is the mean of its neighbours
SAME = 0.9999  # cosine above which two chunks have the same text, which is no further evidence
OVERSAMPLE = 3  # the graph index ranks by rounded vectors, so this many times k candidates are ranked by exact cosines


@dataclass(frozen=True, slots=True)
class Candidates:
    """The dense and lexical scores of the candidates of one query."""

    dense: Scores  # (n,) cosines; NaN if the candidate has no vector yet
    text: Scores  # (n,) BM25 scores; NaN if full text did not find the candidate
    null: Scores  # (J,) the query's cosines with the context chunks
    documents: Sequence[str] | None = None  # (n,) document ids; None: not known
    has_parts: bool = False  # whether documents consist of records
    blindness: float = 0.0  # the estimated probability that the model does not read the query's language
    vectors: Floats | None = None  # (n, d), zeros for a candidate without a vector; None: neighbours do not count
    is_exact: bool = False  # whether the query is one name, date or number, or consists of quoted phrases
    paths: Sequence[str] = ()  # (n,) of their files; empty: not known
    tokens: Sequence[bytes] | None = None  # (n,) of late interaction; None, or empty, where they are not stored
    query_tokens: QueryTokens | None = None  # those of the query; None if they are not compared


@dataclass(frozen=True, slots=True)
class Evidence:
    """The parts of the scores of `EvidenceFusion`, for n candidates."""

    dense_z: Scores  # (n,); for candidates without a vector, it is estimated from the words
    null_mean: float  # the mean of the null distribution
    null_spread: float  # the standard deviation of the null distribution
    own: Scores  # (n,) the z-scores of the BM25 scores
    of_document: Scores | None  # (n,) the highest `own` of the candidate's document; None without `has_parts`
    text_weight: float = TEXT_WEIGHT
    dense_weight: float = 1.0  # of `dense`; lower if the model does not read the query's language
    near_z: Scores | None = None  # (n,) the mean `dense_z` of the candidate's neighbours; None without vectors

    @property
    def text(self) -> Scores:
        return self.own if self.of_document is None else (self.own + self.of_document) / 2

    @property
    def dense(self) -> Scores:
        return self.dense_z if self.near_z is None else (1 - SHARE) * self.dense_z + SHARE * self.near_z

    @property
    def scores(self) -> Scores:
        fused: Scores = self.dense_weight * self.dense + self.text_weight * self.text
        return fused


class EvidenceFusion:
    """The method of hybrid search: the weighted sum of the z-scores of the cosines and of the BM25 scores.

    The mean and the standard deviation of the cosines are those of `null`, the query's cosines with the context chunks,
    which were sampled without regard to any query. Those of the BM25 scores are of the POOL best ones.

    With `has_parts`, half of a chunk's lexical evidence is its own, and half is the best in its document.

    The dense evidence of a candidate without a vector is estimated from its words: it is the same share of the best
    dense evidence as its lexical evidence is of the best lexical evidence. Such candidates are therefore ranked by
    words, and the vectors of others neither raise nor lower them.

    The dense evidence is multiplied by a weight that falls from 1 to BLIND_WEIGHT with the `blindness` of the query.

    A part of the dense evidence of each of the best candidates is that of the nearest ones among them.
    """

    def dense_depth(self, k: int) -> int:
        """A multiple of k: a chunk without lexical evidence can be a hit only if it is among the k nearest.

        At least POOL, so that the order of the first hits hardly depends on k.
        """
        return max(OVERSAMPLE * k, POOL)

    def text_depth(self, k: int) -> int:
        return max(k, POOL)

    def scores(self, candidates: Candidates) -> Scores:
        return self.evidence(candidates).scores

    def evidence(self, candidates: Candidates) -> Evidence:
        """The parts from which the scores are computed."""
        dense, null = candidates.dense, candidates.null
        known = ~np.isnan(dense)
        null = null if len(null) >= MIN_NULL_SIZE else dense[known]
        mean, spread = (float(null.mean()), float(null.std())) if len(null) else (0.0, 0.0)
        dense_z = np.zeros_like(dense) if spread < 1e-9 else (dense - mean) / spread
        own = _text_z(candidates.text)
        parts = candidates.documents if candidates.has_parts else None
        best = None if parts is None else _best_of_document(own, parts)
        text = own if best is None else (own + best) / 2
        most_dense, most_text = dense_z[known].max(initial=0.0), text.max(initial=1e-9)
        dense_z = np.where(known, dense_z, np.maximum(text, 0.0) * (most_dense / most_text))
        dense_weight = 1 - (1 - BLIND_WEIGHT) * candidates.blindness
        text_weight = EXACT_TEXT_WEIGHT if candidates.is_exact else TEXT_WEIGHT
        found = Evidence(dense_z, mean, spread, own, best, text_weight, dense_weight)
        if candidates.vectors is None:
            return found
        return replace(found, near_z=mean_of_neighbours(dense_z, candidates.vectors, found.scores))


class ZScoreFusion:
    """The sum of the z-scores of the cosines and of the BM25 scores. A missing BM25 score counts as zero.

    A candidate without a vector has the mean cosine of the others. For Q queries with the same candidates, the arrays
    may have the shape (Q, n). The trainer uses this.
    """

    def dense_depth(self, k: int) -> int:
        return max(k, POOL)

    text_depth = dense_depth

    def scores(self, candidates: Candidates) -> Scores:
        """The fused scores in the shape of the candidates, (n,) or (Q, n)."""
        dense, known = candidates.dense, ~np.isnan(candidates.dense)
        if not known.all():
            total = np.where(known, dense, 0).sum(axis=-1, keepdims=True)
            dense = np.where(known, dense, total / np.maximum(known.sum(axis=-1, keepdims=True), 1))
        return z_scores(dense) + z_scores(np.nan_to_num(candidates.text, nan=0.0))


FUSION = EvidenceFusion()


def mean_of_neighbours(evidence: Scores, vectors: Floats, scores: Scores) -> Scores:
    """(n,) the weighted mean of the evidence (n,) for the neighbours of each candidate.

    The neighbours are the nearest ones by the vectors (n, d) among the COMPARED candidates with the highest scores
    (n,). A candidate that is not among these, or has no vector, keeps its own evidence.
    """
    best = np.argsort(-scores, kind="stable")[:COMPARED]
    unit = to_unit(vectors[best])
    cosines = unit @ unit.T
    has_none = np.abs(unit).max(axis=1, initial=0) == 0
    cosines[(cosines > SAME) | has_none | has_none[:, None]] = -np.inf
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    weights = np.exp(SHARPNESS * (np.take_along_axis(cosines, nearest, axis=1) - 1))
    total = weights.sum(axis=1)
    found: Scores = evidence.copy()
    means = (weights * evidence[best[nearest]]).sum(axis=1) / np.where(total > 0, total, 1)
    found[best] = np.where(total > 0, means, evidence[best])
    return found


def _best_of_document(evidence: Scores, documents: Sequence[str]) -> Scores:
    _, indices = np.unique(np.asarray(documents), return_inverse=True)
    best = np.full(len(evidence), -np.inf)
    np.maximum.at(best, indices, evidence)
    return best[indices]


def _text_z(text: Scores) -> Scores:
    """The z-scores of BM25 scores (n,), for which the POOL best ones are the distribution.

    A candidate that full text did not find has the lowest score of the pool.
    """
    pool = np.zeros(POOL)
    best = np.sort(text[text > 0])[::-1][:POOL]
    pool[: len(best)] = best
    spread = max(float(pool.std()), LEAST_SPREAD * float(pool[0]))
    found = np.where(text > 0, text, pool[-1])
    z: Scores = np.zeros_like(text) if not spread else (found - pool.mean()) / spread
    return z


def noise_of(text: Scores) -> float:
    """The BM25 score that many chunks reach with a query, from the scores of its candidates; 0 without any.

    If fewer chunks than POOL contain a word of the query, the noise is lower the fewer they are, so that the only
    chunk with a word is before those that are merely similar.
    """
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return 0.0
    if len(found) >= POOL:
        return float(found[POOL - 1])
    return float(min(found[-1], found[0] / MIN_RATIO) * (len(found) / POOL) ** RARITY)


def z_scores(scores: Scores) -> Scores:
    """Scores (..., n) in standard deviations from the mean of each row."""
    spread = scores.std(axis=-1, keepdims=True)
    z: Scores = (scores - scores.mean(axis=-1, keepdims=True)) / np.maximum(spread, 1e-6)
    return z

"""Fusion combines dense and lexical scores into one ranking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.search.neighbours import COMPARED, SHARE, Scores, mean_of_neighbours

# Chosen on samples of sixteen domains and, for documents that consist of records, on long documents. See
# benchmarks/results/LOG.md.
TEXT_WEIGHT = 9.0
NOISE_RANK = 100  # the BM25 score at this rank is noise, caused by a word or two that many chunks contain
MIN_NULL_SIZE = 16  # with fewer context chunks, the candidates themselves are the null distribution
MIN_DENSE_Z = 1.0  # replaces a lower best dense evidence, because words are not more reliable if all chunks are distant
MIN_RATIO = 3.0  # the minimum ratio of the best BM25 score to the noise, for queries with few lexical candidates
RARITY = 0.5  # the power of the share of NOISE_RANK that is found by which the noise of such queries is lower
# The weight of the vectors for a query in a language that the model does not read. It is above 0, so that chunks
# without words of the query are still ranked by their vectors.
BLIND_WEIGHT = 0.1
OVERSAMPLE = 3  # the graph index ranks by rounded vectors, so this many times k candidates are ranked by exact cosines


@dataclass(frozen=True, slots=True)
class Candidates:
    """The dense and lexical scores of the candidates of one query."""

    dense: Scores  # (n,) cosines; NaN if the candidate has no vector yet
    text: Scores  # (n,) BM25 scores; NaN if full text did not find the candidate
    null: Scores  # (J,) the query's cosines with the context chunks
    documents: Sequence[str] | None = None  # (n,) document ids if documents consist of records, otherwise None
    blindness: float = 0.0  # the estimated probability that the model does not read the query's language
    vectors: Floats | None = None  # (n, d), zeros for a candidate without a vector; None: neighbours do not count


@dataclass(frozen=True, slots=True)
class Evidence:
    """The parts of the scores of `EvidenceFusion`, for n candidates."""

    dense_z: Scores  # (n,); for candidates without a vector, it is estimated from the words
    null_mean: float  # the mean of the null distribution
    null_spread: float  # the standard deviation of the null distribution
    own: Scores  # (n,) the logarithm of the ratio of the BM25 score to the noise
    of_document: Scores | None  # (n,) the highest `own` of the candidate's document; None without `documents`
    noise: float  # a BM25 score; 0 if full text found nothing
    text_weight: float  # the weight of text in this query
    dense_weight: float = 1.0  # of `dense`; lower if the model does not read the query's language
    near_z: Scores | None = None  # (n,) the mean `dense_z` of the candidate's neighbours; None without vectors

    @property
    def text(self) -> Scores:
        """(n,) the lexical evidence."""
        return self.own if self.of_document is None else (self.own + self.of_document) / 2

    @property
    def dense(self) -> Scores:
        """(n,) the dense evidence."""
        return self.dense_z if self.near_z is None else (1 - SHARE) * self.dense_z + SHARE * self.near_z

    @property
    def scores(self) -> Scores:
        """(n,) the fused scores."""
        fused: Scores = self.dense_weight * self.dense + self.text_weight * self.text
        return fused


class EvidenceFusion:
    """The method of hybrid search: the sum of the dense and the lexical evidence that a match is better than chance.

    The dense evidence is the cosine in standard deviations from the mean of `null`, the query's cosines with the
    context chunks. These chunks were sampled without regard to any query. The lexical evidence is the logarithm of
    the ratio of the BM25 score to the noise. It is multiplied by the query's text weight, the ratio of the best
    lexical evidence to the best dense evidence: if no chunk's words are distinctive, the vectors decide the ranking.

    With `documents`, half of a chunk's lexical evidence is its own, and half is the best in its document.

    The dense evidence of a candidate without a vector is estimated from its words: it is the same share of the best
    dense evidence as its lexical evidence is of the best lexical evidence. Without lexical evidence it is 0. Such
    candidates are therefore ranked by words, and the vectors of others neither raise nor lower them.

    The dense evidence is multiplied by a weight that falls from 1 to BLIND_WEIGHT with the `blindness` of the query.

    A part of the dense evidence of each of the best candidates is that of the nearest ones among them, see
    `cdesearch.search.neighbours`.
    """

    def dense_depth(self, k: int) -> int:
        """A multiple of k: a chunk without lexical evidence can be a hit only if it is among the k nearest.

        At least as many as have neighbours, so that the order of the first hits does not depend on k.
        """
        return max(OVERSAMPLE * k, COMPARED)

    def text_depth(self, k: int) -> int:
        """At least NOISE_RANK: chunks below this rank have no lexical evidence."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """Dense weight * dense_z + text weight * lexical evidence, (n,)."""
        return self.evidence(candidates).scores

    def evidence(self, candidates: Candidates) -> Evidence:
        """The parts from which the scores are computed."""
        dense, null = candidates.dense, candidates.null
        known = ~np.isnan(dense)
        null = null if len(null) >= MIN_NULL_SIZE else dense[known]
        mean, spread = (float(null.mean()), float(null.std())) if len(null) else (0.0, 0.0)
        dense_z = np.zeros_like(dense) if spread < 1e-9 else (dense - mean) / spread
        own, noise = _log_over_noise(candidates.text)
        best = None if candidates.documents is None else _best_of_document(own, candidates.documents)
        most_dense = max(MIN_DENSE_Z, dense_z[known].max(initial=0.0))
        # The best chunk of all is also the best in its document, so this is the best lexical evidence in both cases.
        most_text = own.max(initial=0.0)
        combined = own if best is None else (own + best) / 2
        dense_z = np.where(known, dense_z, combined * (most_dense / max(most_text, 1e-9)))
        text_weight = TEXT_WEIGHT * (most_text / most_dense)
        dense_weight = 1 - (1 - BLIND_WEIGHT) * candidates.blindness
        found = Evidence(dense_z, mean, spread, own, best, noise, text_weight, dense_weight)
        if candidates.vectors is None:
            return found
        return replace(found, near_z=mean_of_neighbours(dense_z, candidates.vectors, found.scores))


class ZScoreFusion:
    """The sum of the z-scores of the cosines and of the BM25 scores. A missing BM25 score counts as zero.

    A candidate without a vector has the mean cosine of the others. For Q queries with the same candidates, the arrays
    may have the shape (Q, n). The trainer uses this.
    """

    def dense_depth(self, k: int) -> int:
        """At least NOISE_RANK, which is enough for a mean and a standard deviation."""
        return max(k, NOISE_RANK)

    def text_depth(self, k: int) -> int:
        """At least NOISE_RANK, which is enough for a mean and a standard deviation."""
        return max(k, NOISE_RANK)

    def scores(self, candidates: Candidates) -> Scores:
        """The fused scores in the shape of the candidates, (n,) or (Q, n)."""
        dense, known = candidates.dense, ~np.isnan(candidates.dense)
        if not known.all():
            total = np.where(known, dense, 0).sum(axis=-1, keepdims=True)
            dense = np.where(known, dense, total / np.maximum(known.sum(axis=-1, keepdims=True), 1))
        return _z(dense) + _z(np.nan_to_num(candidates.text, nan=0.0))


FUSION = EvidenceFusion()


def _best_of_document(evidence: Scores, documents: Sequence[str]) -> Scores:
    _, indices = np.unique(np.asarray(documents), return_inverse=True)
    best = np.zeros(len(evidence))
    np.maximum.at(best, indices, evidence)
    return best[indices]


def _log_over_noise(text: Scores) -> tuple[Scores, float]:
    """log(score / noise) for each score, and the noise. The logarithm is 0 for scores up to the noise."""
    noise = noise_of(text)
    if not noise:
        return np.zeros_like(text), 0.0
    evidence: Scores = np.log(np.maximum(np.nan_to_num(text, nan=0.0) / noise, 1.0))
    return evidence, noise


def noise_of(text: Scores) -> float:
    """The BM25 score that many chunks reach with a query, from the scores of its candidates; 0 without any.

    If fewer chunks than NOISE_RANK contain a word of the query, the noise is lower the fewer they are, so that the only
    chunk with a word is before those that are merely similar.
    """
    found = np.sort(text[text > 0])[::-1]
    if not len(found):
        return 0.0
    if len(found) >= NOISE_RANK:
        return float(found[NOISE_RANK - 1])
    return float(min(found[-1], found[0] / MIN_RATIO) * (len(found) / NOISE_RANK) ** RARITY)


def _z(scores: Scores) -> Scores:
    spread = scores.std(axis=-1, keepdims=True)
    z: Scores = (scores - scores.mean(axis=-1, keepdims=True)) / np.maximum(spread, 1e-6)
    return z

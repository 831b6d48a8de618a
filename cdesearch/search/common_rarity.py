"""Make lexical scores of several indexes comparable: words and terms are weighted by their rarity in all of them.

LanceDB weights a word by the inverse document frequency (idf) in its own index. A word that is rare in an index about
something else would count more there than in an index that is full of it. So would the evidence of names and phrases,
which `exact.py` adds to BM25.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from unicodedata import category

import numpy as np

from cdesearch.languages.shares import ignored_words
from cdesearch.search.documents import read_tables
from cdesearch.search.exact import ExactTerm, TermEvidence, idf
from cdesearch.search.fusion import Scores
from cdesearch.search.lexical import MAX_SEARCHED, searched_words
from cdesearch.search.nearest import RowIds
from cdesearch.store.index import Index

MOST_COUNTED = 10_000  # chunks with a word that are read; the number of further ones is estimated
# The same in an index of more than MAX_SEARCHED chunks, where it halves the time. The weights of words in such an index
# hardly change by adding a smaller one.
MOST_IN_LARGE = 200
MOST_WORDS = 32  # of a query that are counted; the others keep their weights
# BM25 multiplies the weight of a word by less than k1 + 1 = 2.2. A text with a higher score contains several words that
# full text has found in one, as in scripts without spaces.
MOST_FREQUENCY = 2.3
TYPICAL_BEST = 2.0  # this factor in the best of many texts

Key = TypeVar("Key", str, tuple[ExactTerm, bool])  # a word, or a term and whether it is defined


@dataclass(frozen=True, slots=True)
class WordScores:
    """A word of the query in one index, or the use or the definition of a term."""

    n_found: int  # chunks with the word
    scores: Scores  # (n,) its part in the scores of the n candidates of the index; 0 without the word, or if not known


@dataclass(frozen=True, slots=True)
class Counted:
    """The words of the query that one index contains."""

    n_chunks: int  # of the index
    words: Mapping[str, WordScores]
    divided: frozenset[str]  # those words in which full text has found several
    terms: Mapping[tuple[ExactTerm, bool], WordScores]  # by the term, and whether it is defined


def count_words(index: Index, query: str, rows: RowIds, evidence: Sequence[TermEvidence]) -> Counted:
    """Count the chunks with each word of a query, and score the candidates `rows` (n,); raises IndexDamagedError.

    `evidence` is that of names and phrases in this index, which have been counted already, at most MAX_EXACT of each.
    """
    asked = _asked(index, query)
    searches = [index.async_chunks.query().nearest_to_text(word, columns="text") for word in asked]
    n_chunks, found, divided = index.manifest.n_chunks, {}, set()
    most = MOST_COUNTED if n_chunks <= MAX_SEARCHED else MOST_IN_LARGE
    wanted = [search.limit(most).select(["_score"]).with_row_id() for search in searches]
    for (word, times), table in zip(asked.items(), read_tables(index, wanted), strict=True):
        scores = table["_score"].to_numpy()
        if len(scores) and scores.max() > MOST_FREQUENCY * idf(len(scores), n_chunks):
            divided.add(word)
        elif len(scores):
            own = times * _scores_of(rows, table["_rowid"].to_numpy(), scores)
            n_found = _estimate(float(scores.max()), n_chunks) if len(scores) == most else 0
            found[word] = WordScores(max(len(scores), n_found), own)
    terms = {
        (one.term, one.is_definition): WordScores(one.n_texts, _scores_of(rows, one.rows, one.scores))
        for one in evidence
        if one.scores.any()
    }
    return Counted(n_chunks, found, frozenset(divided), terms)


def _asked(index: Index, query: str) -> dict[str, int]:
    """Return the words that full text looks for, and how often the query has each, because BM25 counts all of them."""
    ignored = ignored_words(index.manifest.text_language)
    words = Counter(word for word in _words_in(searched_words(index, query).lower()) if word not in ignored)
    return dict(list(words.items())[:MOST_WORDS])


def _words_in(text: str) -> Iterator[str]:
    """Yield the runs of letters, marks and digits."""
    yield from "".join(one if category(one)[0] in "LMN" else " " for one in text).split()


def _estimate(best: float, n_chunks: int) -> int:
    """Return how many chunks contain a word, from its best score."""
    return round(n_chunks / math.exp(best / TYPICAL_BEST))


def _scores_of(rows: RowIds, found: RowIds, scores: Scores) -> Scores:
    """Return the scores of `rows` (n,) among the rows that were found; 0 for the others."""
    own = np.zeros(len(rows))
    _, places, others = np.intersect1d(rows, found, assume_unique=True, return_indices=True)
    own[places] = scores[others]
    return own


def comparable(text: Sequence[Scores], counted: Sequence[Counted]) -> list[Scores]:
    """Return the lexical scores (n,) of the candidates of each index, with weights in all indexes together.

    `text` are those with the weights of the own index. What words and terms do not explain stays as it is, and so does
    what divided words explain. NaN stays NaN.
    """
    n_chunks = sum(one.n_chunks for one in counted)
    divided = frozenset[str]().union(*(one.divided for one in counted))
    words = _common_weights([one.words for one in counted], n_chunks)
    words = {word: weight for word, weight in words.items() if word not in divided}
    terms = _common_weights([one.terms for one in counted], n_chunks)
    return [_reweighted(scores, one, words, terms) for scores, one in zip(text, counted, strict=True)]


def _common_weights(found: Sequence[Mapping[Key, WordScores]], n_chunks: int) -> dict[Key, float]:
    """Return the idf of each word or term in all indexes, which have `n_chunks` together."""
    n_found = Counter[Key]()
    for one in found:
        n_found.update({key: scores.n_found for key, scores in one.items()})
    return {key: idf(number, n_chunks) for key, number in n_found.items()}


def _reweighted(
    text: Scores, counted: Counted, words: Mapping[str, float], terms: Mapping[tuple[ExactTerm, bool], float]
) -> Scores:
    known, changed = _sums(counted.words, words, counted.n_chunks, len(text))
    evidence, changed_evidence = _sums(counted.terms, terms, counted.n_chunks, len(text))
    bm25 = np.maximum(0, text - evidence)
    # Full text may have divided the query otherwise, or have found only terms, and have less than the words explain.
    share = np.minimum(1, np.divide(bm25, known, out=np.ones_like(text), where=known > 0))
    reweighted: Scores = text + share * (changed - known) + (changed_evidence - evidence)
    return reweighted


def _sums(
    found: Mapping[Key, WordScores], common: Mapping[Key, float], n_chunks: int, n_candidates: int
) -> tuple[Scores, Scores]:
    """Return the sums (n,) of the scores of words or terms with their own weights, and with the common ones."""
    own, changed = np.zeros(n_candidates), np.zeros(n_candidates)
    for key, one in found.items():
        if key in common:
            own += one.scores
            changed += one.scores * (common[key] / idf(one.n_found, n_chunks))
    return own, changed

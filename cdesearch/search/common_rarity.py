"""Make BM25 scores of several indexes comparable: a word is as rare as it is in all of them together.

LanceDB weights a word by the inverse document frequency (idf) in its own index. A word that is rare in an index about
something else would count more there than in an index that is full of it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import category

import numpy as np

from cdesearch.languages.shares import ignored_words
from cdesearch.search.documents import read_tables
from cdesearch.search.exact import TermEvidence, idf
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


@dataclass(frozen=True, slots=True)
class WordScores:
    """A word of the query in one index."""

    n_found: int  # chunks with the word
    scores: Scores  # (n,) its BM25 scores for the n candidates of the index; 0 without the word, or if it is not known


@dataclass(frozen=True, slots=True)
class Counted:
    """The words of the query that one index contains."""

    n_chunks: int  # of the index
    words: Mapping[str, WordScores]  # also names and phrases, and definitions of names, which count as words do
    divided: frozenset[str]  # those words in which full text has found several


def count_words(index: Index, query: str, rows: RowIds, evidence: Sequence[TermEvidence]) -> Counted:
    """Count the chunks with each word of a query, and score the candidates `rows` (n,); raises IndexDamagedError.

    `evidence` is that of names and phrases in this index, which have been counted already.
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
    for one in evidence:
        if one.n_texts:
            found[one.name] = WordScores(one.n_texts, _scores_of(rows, one.rows, one.scores))
    return Counted(n_chunks, found, frozenset(divided))


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
    """Return the BM25 scores (n,) of the candidates of each index, with the weights of words in all indexes together.

    `text` are those with the weights of the own index. What words do not explain stays as it is, and so does what
    divided words explain. NaN stays NaN.
    """
    n_chunks = sum(one.n_chunks for one in counted)
    divided = frozenset[str]().union(*(one.divided for one in counted))
    n_found = Counter[str]()
    for one in counted:
        n_found.update({word: scores.n_found for word, scores in one.words.items() if word not in divided})
    common = {word: idf(number, n_chunks) for word, number in n_found.items()}
    return [_reweighted(scores, one, common) for scores, one in zip(text, counted, strict=True)]


def _reweighted(text: Scores, counted: Counted, common: Mapping[str, float]) -> Scores:
    known, changed = np.zeros_like(text), np.zeros_like(text)
    for word, one in counted.words.items():
        if word in common:
            known += one.scores
            changed += one.scores * (common[word] / idf(one.n_found, counted.n_chunks))
    # Full text may have divided the query otherwise, and have found less than the words explain.
    share = np.minimum(1, np.divide(text, known, out=np.ones_like(text), where=known > 0))
    reweighted: Scores = text + share * (changed - known)
    return reweighted

"""Make BM25 scores of several indexes comparable: a word is as rare as it is in all of them together.

LanceDB weights a word by the inverse document frequency (idf) in its own index. A word that is rare in an index about
something else would count more there than in an index that is full of it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cdesearch.languages.shares import ignored_words
from cdesearch.search.documents import read_tables
from cdesearch.search.fusion import Scores
from cdesearch.search.lexical import searched_words
from cdesearch.search.nearest import RowIds
from cdesearch.store.index import Index

# Chunks with a word that are counted at most, which takes 70 ms. A more common word keeps the weight in its own index.
MOST_COUNTED = 50_000
MOST_WORDS = 32  # of a query that are counted; the others keep their weights
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class WordScores:
    """A word of the query in one index."""

    n_found: int  # chunks with the word, at most MOST_COUNTED
    scores: Scores  # (n,) its BM25 scores for the n candidates of the index; 0 without the word


@dataclass(frozen=True, slots=True)
class Counted:
    """The words of the query that one index contains."""

    n_chunks: int  # of the index
    words: Mapping[str, WordScores]


def count_words(index: Index, query: str, rows: RowIds) -> Counted:
    """Count the chunks with each word of a query, and score the candidates `rows` (n,); raises IndexDamagedError."""
    ignored = ignored_words(index.manifest.text_language)
    asked = dict.fromkeys(_WORD.findall(searched_words(index, query).lower()))
    words = [word for word in asked if word not in ignored][:MOST_WORDS]
    searches = [index.async_chunks.query().nearest_to_text(word, columns="text") for word in words]
    wanted = [search.limit(MOST_COUNTED).select(["_score"]).with_row_id() for search in searches]
    found = {
        word: WordScores(table.num_rows, _scores_of(rows, table["_rowid"].to_numpy(), table["_score"].to_numpy()))
        for word, table in zip(words, read_tables(index, wanted), strict=True)
        if table.num_rows
    }
    return Counted(max([index.manifest.n_chunks, *(one.n_found for one in found.values())]), found)


def _scores_of(rows: RowIds, found: RowIds, scores: Scores) -> Scores:
    """Return the scores of `rows` (n,) among the rows that were found; 0 for the others."""
    own = np.zeros(len(rows))
    _, places, others = np.intersect1d(rows, found, assume_unique=True, return_indices=True)
    own[places] = scores[others]
    return own


def comparable(text: Sequence[Scores], counted: Sequence[Counted]) -> list[Scores]:
    """Return the BM25 scores (n,) of the candidates of each index, with the weights of words in all indexes together.

    `text` are those with the weights of the own index. What words do not explain, such as quoted phrases, stays as it
    is. NaN stays NaN.
    """
    n_chunks = sum(one.n_chunks for one in counted)
    n_found = Counter[str]()
    for one in counted:
        n_found.update({word: scores.n_found for word, scores in one.words.items()})
    common = {word: _idf(n_chunks, number) for word, number in n_found.items()}
    return [_reweighted(scores, one, common) for scores, one in zip(text, counted, strict=True)]


def _reweighted(text: Scores, counted: Counted, common: Mapping[str, float]) -> Scores:
    known, changed = np.zeros_like(text), np.zeros_like(text)
    for word, one in counted.words.items():
        if one.n_found < MOST_COUNTED:
            known += one.scores
            changed += one.scores * (common[word] / _idf(counted.n_chunks, one.n_found))
    # Two forms of one word have equal scores, which the query counts once.
    share = np.minimum(1, np.divide(text, known, out=np.ones_like(text), where=known > 0))
    reweighted: Scores = text + share * (changed - known)
    return reweighted


def _idf(n_chunks: int, n_found: int) -> float:
    """Return the weight of a word in BM25, as LanceDB computes it."""
    return float(np.log1p((n_chunks - n_found + 0.5) / (n_found + 0.5)))

"""Make BM25 scores of several indexes comparable: a word is as rare as it is in all of them together.

LanceDB weights a word by the inverse document frequency (idf) in its own index. A word that is rare in an index about
something else would count more there than in an index that is full of it.
"""

import re
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

    n_chunks: int  # of the index
    n_found: int  # chunks with the word, at most MOST_COUNTED
    scores: Scores  # (n,) its BM25 scores for the n candidates of the index; 0 without the word

    @property
    def idf(self) -> float:
        """The weight that the index gives to the word."""
        return idf(self.n_chunks, self.n_found)


def idf(n_chunks: int, n_found: int) -> float:
    """Return the weight of a word in BM25, as LanceDB computes it."""
    return float(np.log1p((n_chunks - n_found + 0.5) / (n_found + 0.5)))


def word_scores(index: Index, query: str, rows: RowIds) -> dict[str, WordScores]:
    """Return the words of a query that an index contains, with their scores for the candidates `rows` (n,).

    Raises IndexDamagedError.
    """
    ignored = ignored_words(index.manifest.text_language)
    asked = dict.fromkeys(_WORD.findall(searched_words(index, query).lower()))
    words = [word for word in asked if word not in ignored][:MOST_WORDS]
    searches = [index.async_chunks.query().nearest_to_text(word, columns="text") for word in words]
    wanted = [search.limit(MOST_COUNTED).select(["_score"]).with_row_id() for search in searches]
    found = {}
    for word, table in zip(words, read_tables(index, wanted), strict=True):
        if n_found := table.num_rows:
            scores = _scores_of(rows, table["_rowid"].to_numpy(), table["_score"].to_numpy())
            found[word] = WordScores(max(index.manifest.n_chunks, n_found), n_found, scores)
    return found


def _scores_of(rows: RowIds, found: RowIds, scores: Scores) -> Scores:
    """Return the scores of `rows` (n,) among the rows that were found; 0 for the others."""
    own = np.zeros(len(rows))
    _, places, others = np.intersect1d(rows, found, assume_unique=True, return_indices=True)
    own[places] = scores[others]
    return own


def comparable(text: Sequence[Scores], words: Sequence[Mapping[str, WordScores]]) -> list[Scores]:
    """Return the BM25 scores (n,) of the candidates of each index, with the weights of words in all indexes together.

    `text` are those with the weights of the own index; what words do not explain, such as quoted phrases, stays as it
    is. NaN stays NaN.
    """
    n_chunks = [max((one.n_chunks for one in own.values()), default=0) for own in words]
    common = {
        word: idf(sum(n_chunks), sum(own[word].n_found for own in words if word in own))
        for word in dict.fromkeys(word for own in words for word in own)
    }
    return [_reweighted(scores, own, common) for scores, own in zip(text, words, strict=True)]


def _reweighted(text: Scores, own: Mapping[str, WordScores], common: Mapping[str, float]) -> Scores:
    counted = {word: one for word, one in own.items() if one.n_found < MOST_COUNTED}
    known, changed = np.zeros_like(text), np.zeros_like(text)
    for word, one in counted.items():
        known += one.scores
        changed += one.scores * (common[word] / one.idf)
    # Two forms of one word have equal scores, which the query counts once.
    share = np.minimum(1, np.divide(text, known, out=np.ones_like(text), where=known > 0))
    reweighted: Scores = text + share * (changed - known)
    return reweighted

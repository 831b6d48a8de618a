"""BM25 of a domain's texts, by bm25s and scipy where they are installed, else word by word."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.plain_bm25 import PlainWordScores


class WordScores(Protocol):
    """What each word is worth in each of n texts."""

    def __len__(self) -> int:
        """How many texts there are."""

    def take(self, rows: NDArray[np.int64]) -> "WordScores":
        """The scores of the texts at `rows` alone, with the idf of the whole domain."""

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25; a word counts once a query."""


def fit_word_scores(texts: Sequence[str]) -> WordScores:
    """Index all texts of a domain that a batch can hold."""
    if has_bm25s():
        from trainer.data.lexical import LexicalScores

        return LexicalScores.fit(texts)
    return PlainWordScores.fit(texts)


def has_bm25s() -> bool:
    """Whether the fast way is installed."""
    return find_spec("bm25s") is not None and find_spec("scipy") is not None

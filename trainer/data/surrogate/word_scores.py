"""BM25 of a domain's texts, by bm25s and scipy if they are installed, else word by word."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.surrogate.plain_bm25 import PlainWordScores


class WordScores(Protocol):
    """The weight of each word in each of n texts."""

    def __len__(self) -> int:
        """The number of texts."""

    def take(self, rows: NDArray[np.int64]) -> "WordScores":
        """The scores of only the texts at `rows`, with the idf of the whole domain."""

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25 scores; a word that a query repeats counts once."""


def fit_word_scores(texts: Sequence[str]) -> WordScores:
    """Index all texts of a domain that a batch can contain."""
    if has_bm25s():
        from trainer.data.surrogate.sparse_bm25 import LexicalScores

        return LexicalScores.fit(texts)
    return PlainWordScores.fit(texts)


def has_bm25s() -> bool:
    """Whether bm25s and scipy, which are faster, are installed."""
    return find_spec("bm25s") is not None and find_spec("scipy") is not None

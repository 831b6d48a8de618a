"""BM25 between the queries of a batch and the texts of its domain, by bm25s: one sparse product a batch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from cdesearch.context.vectors import Floats
from trainer.data.surrogate.plain_bm25 import K1, WORD, B


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """The weight of each word in each of n texts: the idf of the whole domain times the saturated term frequency."""

    vocabulary: Mapping[str, int]
    weights: csr_array  # (n, V)

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "LexicalScores":
        """Index all texts of a domain that a batch can contain."""
        import bm25s

        words = bm25s.tokenize(texts, token_pattern=WORD, stopwords=[], show_progress=False)
        n = len(words.ids)
        if not words.vocab:
            return cls({}, csr_array((n, 0), dtype=np.float32))
        # The idf is Lucene's, which is positive for every word; ATIRE's term frequency has the factor K1 + 1.
        index = bm25s.BM25(k1=K1, b=B, method="atire", idf_method="lucene")
        index.index(words, create_empty_token=False, show_progress=False)
        columns = index.scores["data"], index.scores["indices"], index.scores["indptr"]
        return cls(words.vocab, csc_array(columns, shape=(n, len(words.vocab))).tocsr())

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "LexicalScores":
        """The inverse of `to_arrays`."""
        words = arrays["words"].tobytes().decode().split("\n") if len(arrays["words"]) else []
        columns = arrays["weights"], arrays["columns"], arrays["starts"]
        weights = csr_array(columns, shape=(len(arrays["starts"]) - 1, len(words)))
        return cls({word: column for column, word in enumerate(words)}, weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The words of the vocabulary, one a line, and `weights`, `columns` and `starts` of a sparse matrix (n, V)."""
        return {
            "words": np.frombuffer("\n".join(self.vocabulary).encode(), np.uint8),
            "weights": self.weights.data,
            "columns": self.weights.indices,
            "starts": self.weights.indptr,
        }

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def take(self, rows: NDArray[np.int64]) -> "LexicalScores":
        """The scores of only the texts at `rows`, with the idf of the whole domain."""
        return replace(self, weights=self.weights[rows])

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25 scores; a word that a query repeats counts once."""
        import bm25s

        words = bm25s.tokenize(list(queries), token_pattern=WORD, stopwords=[], show_progress=False)
        columns = np.array([self.vocabulary.get(word, -1) for word in words.vocab], np.int64)
        found = [np.unique(columns[ids]) for ids in words.ids]  # sorted, so that a word in no text comes first
        found = [ids[np.searchsorted(ids, 0) :] for ids in found]
        starts = np.cumsum([0, *map(len, found)])
        indices = np.concatenate([*found, np.empty(0, np.int64)])
        shape = len(queries), self.weights.shape[1]
        counts = csr_array((np.ones(len(indices), np.float32), indices, starts), shape=shape)
        scores: Floats = (counts @ self.weights.T).toarray()
        return scores

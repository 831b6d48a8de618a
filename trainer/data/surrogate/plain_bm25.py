"""BM25 in plain Python, for machines without bm25s or scipy."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats

K1, B = 0.9, 0.4  # as in BEIR
WORD = r"\w+"


@dataclass(frozen=True, slots=True)
class PlainWordScores:
    """Stores each text as the weights of its words."""

    weights: Sequence[Mapping[str, float]]  # n

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "PlainWordScores":
        """Count the words of each text, with Lucene's idf, which is positive for every word."""
        counts = [Counter(_words(text)) for text in texts]
        n_with = Counter(word for counted in counts for word in counted)
        idf = {word: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for word, n in n_with.items()}
        lengths = [counted.total() for counted in counts]
        mean = max(1, sum(lengths)) / max(1, len(lengths))
        norms = [K1 * (1 - B + B * length / mean) for length in lengths]
        return cls(
            [
                {word: idf[word] * n * (K1 + 1) / (n + norm) for word, n in counted.items()}
                for counted, norm in zip(counts, norms, strict=True)
            ]
        )

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "PlainWordScores":
        """The inverse of `to_arrays`."""
        words = arrays["words"].tobytes().decode().split("\n")
        names = [words[column] for column in arrays["columns"].tolist()]
        weights, starts = arrays["weights"].tolist(), arrays["starts"].tolist()
        rows = [slice(*bounds) for bounds in pairwise(starts)]
        return cls([dict(zip(names[row], weights[row], strict=True)) for row in rows])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The words of the vocabulary, one a line, and `weights`, `columns` and `starts` of a sparse matrix (n, V)."""
        vocabulary: dict[str, int] = {}
        columns = [vocabulary.setdefault(word, len(vocabulary)) for weights in self.weights for word in weights]
        return {
            "words": np.frombuffer("\n".join(vocabulary).encode(), np.uint8),
            "weights": np.array([weight for weights in self.weights for weight in weights.values()], np.float64),
            "columns": np.array(columns, np.int64),
            "starts": np.cumsum([0, *map(len, self.weights)]),
        }

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: NDArray[np.int64]) -> "PlainWordScores":
        """The scores of only the texts at `rows`, with the idf of the whole domain."""
        return replace(self, weights=[self.weights[row] for row in rows.tolist()])

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25 scores; a word that a query repeats counts once."""
        table = np.zeros((len(queries), len(self)), np.float32)
        texts_with: dict[str, list[tuple[int, float]]] = {}
        for column, weights in enumerate(self.weights):
            for word, weight in weights.items():
                texts_with.setdefault(word, []).append((column, weight))
        for row, query in enumerate(queries):
            for word in set(_words(query)):
                for column, weight in texts_with.get(word, ()):
                    table[row, column] += weight
        return table


def _words(text: str) -> list[str]:
    return re.findall(WORD, text.lower())

"""Which distinct documents answer which queries of a domain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer.data.pairs.reading import Pair

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """The distinct documents of N pairs, and those that answer the query of each pair.

    Texts that differ only in case and white space count as one, both queries and documents.
    """

    texts: list[str]  # D, as they are first written
    own: Rows  # (N,) the document of each pair
    query: Rows  # (N,) the number of each pair's query
    documents: list[Rows]  # of each query: the documents of all of its pairs

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Answers":
        """The answers of all pairs of a domain."""
        documents: dict[str, int] = {}
        queries: dict[str, int] = {}
        texts: list[str] = []
        own, asked = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
        for row, pair in enumerate(pairs):
            own[row] = documents.setdefault(normal(pair.document), len(documents))
            asked[row] = queries.setdefault(normal(pair.query), len(queries))
            if own[row] == len(texts):
                texts.append(pair.document)
        order = np.argsort(asked, kind="stable")
        starts = np.searchsorted(asked[order], np.arange(1, len(queries)))
        return cls(texts, own, asked, [np.unique(rows) for rows in np.split(own[order], starts)])

    def of_queries(self, rows: slice) -> list[Rows]:
        """The documents that answer the query of each of the pairs in `rows`."""
        return [self.documents[query] for query in self.query[rows].tolist()]


def normal(text: str) -> str:
    """A text in the form in which texts that count as one are equal."""
    return " ".join(text.casefold().split())

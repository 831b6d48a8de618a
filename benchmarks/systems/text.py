"""BM25 by bm25s."""

import os
from dataclasses import dataclass

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import DEPTH, Run, ranked
from cdesearch.context.vectors import Floats

# bm25s imports JAX where it is installed, and JAX would take three quarters of the memory of a GPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

K1, B = 0.9, 0.4  # as in BEIR


class Bm25:
    """BM25 by bm25s, with English stop words and stemming."""

    name = "BM25 (bm25s)"

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the documents by BM25."""
        queries = dataset.queries
        return {
            query: ranked(dataset.ids, row, query, DEPTH)
            for query, row in zip(queries, self.scores(dataset), strict=True)
        }

    def scores(self, dataset: Dataset) -> Floats:
        """(queries, documents) BM25 scores."""
        return bm25_scores(stemmed(dataset), K1, B)


@dataclass(frozen=True, slots=True)
class Stemmed:
    """The words of all documents and queries, each reduced to its stem."""

    documents: list[list[str]]
    queries: list[list[str]]


def stemmed(dataset: Dataset) -> Stemmed:
    """Split the texts into words as bm25s does, and leave out the 33 stop words of Lucene and LanceDB."""
    import bm25s
    import Stemmer

    def words(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english")
        found = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
        return [list(row) for row in found]

    return Stemmed(words(list(dataset.texts)), words(list(dataset.queries.values())))


def bm25_scores(texts: Stemmed, k1: float, b: float) -> Floats:
    """(queries, documents) scores of Lucene's BM25."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    index.index(texts.documents, show_progress=False)
    nothing = np.zeros(len(texts.documents), np.float32)  # for a query of stop words alone, which bm25s refuses
    return np.stack([index.get_scores(words) if words else nothing for words in texts.queries])

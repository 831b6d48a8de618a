"""BM25 by bm25s, alone and fused with any vectors as cdesearch does.

The latter shows how much of a gain is due to fusion alone.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import DEPTH, Embedding, Run, ranked
from cdesearch.context.vectors import Floats
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS, Candidates, Fusion

NULL_SIZE = 512

Rows = NDArray[np.intp]


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


class Fused:
    """A dense system fused with BM25."""

    def __init__(self, dense: Embedding, fusion: str = DEFAULT_FUSION) -> None:
        self.name = f"{dense.name} + BM25"
        self._dense = dense
        self._fusion = FUSIONS[fusion]

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank as cdesearch does, but without its rule for documents that consist of several records."""
        depths = self._fusion.dense_depth(DEPTH), self._fusion.text_depth(DEPTH)
        found = candidates_of(self._dense.vectors(dataset), Bm25().scores(dataset), *depths)
        return run_of(dataset, found, self._fusion, DEPTH)


def candidates_of(
    vectors: tuple[Floats, Floats], text: Floats, dense_depth: int, text_depth: int
) -> list[tuple[Rows, Candidates]]:
    """For each query, the rows of the nearest documents and of those with the highest BM25 scores, and their scores.

    `text` is (queries, documents). A uniform sample is the null distribution.
    """
    queries, documents = vectors
    sample = np.random.default_rng(0).permutation(len(documents))[:NULL_SIZE]
    found = []
    for vector, words in zip(queries, text, strict=True):
        cosines = (documents @ vector).astype(np.float64)
        lexical_hits = np.argsort(-words, kind="stable")[:text_depth]
        dense_hits = np.argsort(-cosines, kind="stable")[:dense_depth]
        rows = np.union1d(lexical_hits[words[lexical_hits] > 0], dense_hits)
        scores = np.where(np.isin(rows, lexical_hits), words[rows], np.nan).astype(np.float64)
        found.append((rows, Candidates(cosines[rows], scores, cosines[sample], vectors=documents[rows])))
    return found


def run_of(dataset: Dataset, candidates: Sequence[tuple[Rows, Candidates]], fusion: Fusion, k: int) -> Run:
    """The `k` best of the candidates of each query by a fusion."""
    return {
        name: ranked([dataset.ids[row] for row in rows], fusion.scores(some), name, k)
        for name, (rows, some) in zip(dataset.queries, candidates, strict=True)
    }

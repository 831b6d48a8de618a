"""BM25 by bm25s, alone and fused with the vectors of another model as cdesearch does.

The latter shows how much of a gain is due to fusion alone.
"""

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.dense import MiniLm
from benchmarks.systems.system import DEPTH, Run, ranked
from cdesearch.context.vectors import Floats
from cdesearch.search.fusion import FUSION, Candidates, EvidenceFusion, ZScoreFusion

NULL_SIZE = 512

# bm25s imports JAX where it is installed, and JAX would take three quarters of the memory of a GPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

K1, B = 0.9, 0.4  # as in BEIR


class Bm25:
    """BM25 by bm25s, with English stop words and stemming."""

    name = "BM25 (bm25s)"

    def retrieve(self, dataset: Dataset) -> Run:
        queries = dataset.queries
        return {
            query: ranked(dataset.ids, row, query, DEPTH)
            for query, row in zip(queries, self.scores(dataset), strict=True)
        }

    def scores(self, dataset: Dataset) -> Floats:
        """(queries, documents) scores of Lucene's BM25, without the 33 stop words of Lucene and LanceDB."""
        import bm25s
        import Stemmer

        def words(texts: list[str]) -> list[list[str]]:
            stemmer = Stemmer.Stemmer("english")
            found = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
            return [list(row) for row in found]

        index = bm25s.BM25(method="lucene", k1=K1, b=B)
        index.index(words(list(dataset.texts)), show_progress=False)
        nothing = np.zeros(len(dataset.texts), np.float32)  # for a query of stop words alone, which bm25s refuses
        queries = words(list(dataset.queries.values()))
        return np.stack([index.get_scores(some) if some else nothing for some in queries])


class Fused:
    """A dense system fused with BM25."""

    def __init__(self, dense: MiniLm, fusion: EvidenceFusion | ZScoreFusion = FUSION) -> None:
        self.name = f"{dense.name} + BM25"
        self._dense = dense
        self._fusion = fusion

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank as cdesearch does, but without its rule for documents that consist of several records."""
        run = {}
        vectors, text = self._dense.vectors(dataset), Bm25().scores(dataset)
        for query, (rows, candidates) in zip(dataset.queries, self._candidates(vectors, text), strict=True):
            names = [dataset.ids[row] for row in rows]
            run[query] = ranked(names, self._fusion.scores(candidates), query, DEPTH)
        return run

    def _candidates(
        self, vectors: tuple[Floats, Floats], text: Floats
    ) -> Iterator[tuple[NDArray[np.intp], Candidates]]:
        """For each query, the rows of the nearest documents and of those with the highest BM25 scores, and the scores.

        `text` is (queries, documents). A uniform sample is the null distribution.
        """
        queries, documents = vectors
        sample = np.random.default_rng(0).permutation(len(documents))[:NULL_SIZE]
        for vector, words in zip(queries, text, strict=True):
            cosines = (documents @ vector).astype(np.float64)
            lexical_hits = np.argsort(-words, kind="stable")[: self._fusion.text_depth(DEPTH)]
            dense_hits = np.argsort(-cosines, kind="stable")[: self._fusion.dense_depth(DEPTH)]
            rows = np.union1d(lexical_hits[words[lexical_hits] > 0], dense_hits)
            scores = np.where(np.isin(rows, lexical_hits), words[rows], np.nan).astype(np.float64)
            yield rows, Candidates(cosines[rows], scores, cosines[sample], vectors=documents[rows])

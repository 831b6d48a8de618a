"""Fuse any vectors with BM25 as cdesearch does, to show how much of a gain is due to fusion alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import DEPTH, Embedding, Run, ranked
from benchmarks.systems.text import Bm25
from cdesearch.context.vectors import Floats
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS, Candidates, Fusion

NULL_SIZE = 512

Rows = NDArray[np.intp]


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
        found.append((rows, Candidates(cosines[rows], scores, cosines[sample])))
    return found


def run_of(dataset: Dataset, candidates: Sequence[tuple[Rows, Candidates]], fusion: Fusion, k: int) -> Run:
    """The `k` best of the candidates of each query by a fusion."""
    return {
        name: ranked([dataset.ids[row] for row in rows], fusion.scores(some), name, k)
        for name, (rows, some) in zip(dataset.queries, candidates, strict=True)
    }

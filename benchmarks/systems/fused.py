"""Fuse any vectors with BM25 as cdesearch does, to show how much of a gain is due to fusion alone."""

from typing import Protocol

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run, ranked
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import Bm25
from cdesearch.context.vectors import Floats
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS, Candidates, Fusion

NULL_SIZE = 512


class Vectors(Protocol):
    """A dense system that can return its vectors."""

    name: str

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Unit vectors of queries and documents."""


class Fused:
    """A dense system fused with BM25."""

    def __init__(self, dense: Vectors, fusion: str = DEFAULT_FUSION) -> None:
        self.name = f"{dense.name} + BM25"
        self._dense = dense
        self._fusion = FUSIONS[fusion]

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank as cdesearch does, but without its rule for documents that consist of several records."""
        return fused_run(dataset, self._dense.vectors(dataset), Bm25().scores(dataset), self._fusion)


def fused_run(dataset: Dataset, vectors: tuple[Floats, Floats], text: Floats, fusion: Fusion) -> Run:
    """Rank by a fusion of cosines and (queries, documents) BM25 scores; a uniform sample is the null distribution."""
    queries, documents = vectors
    sample = np.random.default_rng(0).permutation(len(documents))[:NULL_SIZE]
    run = {}
    for name, vector, words in zip(dataset.queries, queries, text, strict=True):
        cosines = (documents @ vector).astype(np.float64)
        lexical_hits = np.argsort(-words, kind="stable")[: fusion.text_depth(DEPTH)]
        dense_hits = np.argsort(-cosines, kind="stable")[: fusion.dense_depth(DEPTH)]
        rows = np.union1d(lexical_hits[words[lexical_hits] > 0], dense_hits)
        found = np.where(np.isin(rows, lexical_hits), words[rows], np.nan).astype(np.float64)
        scores = fusion.scores(Candidates(cosines[rows], found, cosines[sample]))
        run[name] = ranked([dataset.ids[row] for row in rows], scores, name, DEPTH)
    return run

"""Any vectors fused with BM25 as in cdesearch, which shows how much of a gain is due to fusion alone."""

from typing import Protocol

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run, ranked
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import Bm25
from cdesearch.context.vectors import Floats
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS, Candidates

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
        """Rank as cdesearch does, but without its rule for documents in several records."""
        queries, documents = self._dense.vectors(dataset)
        sample = np.random.default_rng(0).permutation(len(documents))[:NULL_SIZE]
        run = {}
        for name, vector, text in zip(dataset.queries, queries, Bm25().scores(dataset), strict=True):
            cosines = (documents @ vector).astype(np.float64)
            lexical_hits = np.argsort(-text, kind="stable")[: self._fusion.text_depth(DEPTH)]
            dense_hits = np.argsort(-cosines, kind="stable")[: self._fusion.dense_depth(DEPTH)]
            rows = np.union1d(lexical_hits[text[lexical_hits] > 0], dense_hits)
            found = np.where(np.isin(rows, lexical_hits), text[rows], np.nan).astype(np.float64)
            scores = self._fusion.scores(Candidates(cosines[rows], found, cosines[sample]))
            run[name] = ranked([dataset.ids[row] for row in rows], scores, name, DEPTH)
        return run

"""Vectors and BM25, fused the way the product fuses them: what of a gain is fusion's alone."""

from typing import Protocol

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.quality.measures import Run, ranked
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import Bm25
from cdesearch.context.context import Floats
from cdesearch.search.fusion import NOISE_RANK, fuse

NULL_SIZE = 512


class Vectors(Protocol):
    """A dense system."""

    name: str

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Unit vectors of queries and documents."""


class Fused:
    """A dense system beside BM25."""

    def __init__(self, dense: Vectors) -> None:
        self.name = f"{dense.name} + BM25"
        self._dense = dense

    def retrieve(self, dataset: Dataset) -> Run:
        """By how far a document stands out from chance on both sides."""
        queries, documents = self._dense.vectors(dataset)
        sample = np.random.default_rng(0).permutation(len(documents))[:NULL_SIZE]
        run = {}
        for name, vector, text in zip(dataset.queries, queries, Bm25().scores(dataset), strict=True):
            cosines = (documents @ vector).astype(np.float64)
            found = np.argsort(-text, kind="stable")[:NOISE_RANK]
            candidates = np.union1d(found[text[found] > 0], np.argsort(-cosines, kind="stable")[: 3 * DEPTH])
            said = np.where(np.isin(candidates, found), text[candidates], np.nan).astype(np.float64)
            scores = fuse(cosines[candidates], said, cosines[sample])
            run[name] = ranked([dataset.ids[place] for place in candidates], scores, name, DEPTH)
        return run

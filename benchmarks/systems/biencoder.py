"""An off-the-shelf embedding model, without any context; alone, and fused with BM25 the way the product fuses."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.measures import Run, ranked
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import Bm25
from benchmarks.systems.vectors import kept, nearest
from cdesearch.context import Floats
from cdesearch.fusion import NOISE_RANK, fuse

NULL_SIZE = 512


class Biencoder:
    """A sentence-transformers folder, as its authors made it."""

    def __init__(self, folder: Path, work: Path, name: str | None = None) -> None:
        self.name = name or folder.name
        self._folder = folder
        self._work = work

    def retrieve(self, dataset: Dataset) -> Run:
        """The nearest documents by cosine."""
        return nearest(dataset, *self.vectors(dataset))

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Unit vectors of queries and documents."""
        queries, documents = (
            kept(self._work, f"{self._folder} sentence-transformers", texts, self._embed)
            for texts in (list(dataset.queries.values()), list(dataset.texts))
        )
        return queries, documents

    def _embed(self, texts: Sequence[str]) -> Floats:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(self._folder), device="cpu")
        vectors: Floats = model.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=True)
        return vectors


class FusedBiencoder:
    """The plain biencoder and BM25, fused as the product does it: what of our gain is fusion's alone."""

    def __init__(self, biencoder: Biencoder) -> None:
        self.name = f"{biencoder.name} + BM25"
        self._biencoder = biencoder

    def retrieve(self, dataset: Dataset) -> Run:
        """By how far a document stands out from chance on both sides."""
        queries, documents = self._biencoder.vectors(dataset)
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

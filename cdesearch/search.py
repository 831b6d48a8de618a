"""Query to hits: dense, full text, and both fused."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdesearch.encoder import Device, Encoder, load_encoder
from cdesearch.errors import IndexDamagedError, QueryError
from cdesearch.fusion import Scores, fuse
from cdesearch.index import REBUILD, Index
from cdesearch.path_filter import path_condition
from cdesearch.schema import Chunk, Hit

Mode = Literal["hybrid", "dense", "text"]
Rows = NDArray[np.uint64]  # LanceDB's row ids: they hold within one generation

CANDIDATES = 300  # of each side; 100 cost up to a point of nDCG@10 where a document is many chunks
SEARCH_WIDTH = 150  # nodes that the graph index keeps in view; recall@10 .999 at 100,000 chunks
CHUNK_COLUMNS = list(Chunk.__slots__)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Row ids and scores of hits, best first; a side that was not asked has no scores."""

    rows: Rows
    scores: Scores
    dense: Scores | None
    text: Scores | None  # NaN where full text did not find the row

    @classmethod
    def best(
        cls, k: int, rows: Rows, scores: Scores, dense: Scores | None = None, text: Scores | None = None
    ) -> "_Ranking":
        """The `k` highest; equal scores stay in the order of `rows`, so that a query always answers the same."""
        top = np.argsort(-scores, kind="stable")[:k]
        sides = (None if side is None else side[top] for side in (dense, text))
        return cls(rows[top], scores[top], *sides)


class Searcher:
    """An open index and the model that built it. The model is loaded when the first dense query needs it."""

    def __init__(self, index: Index, encoder: Encoder | None = None, device: Device = "auto") -> None:
        self.index = index
        self._encoder = encoder
        self._device = device
        self._pool = ThreadPoolExecutor(thread_name_prefix="cdesearch-text")

    @property
    def encoder(self) -> Encoder:
        """The model; raises ModelError, or IndexMismatchError where another one built the index."""
        if self._encoder is None:
            model = self.index.manifest.model
            self._encoder = load_encoder(Path(model) if model else None, self._device)
        self.index.check_encoder(self._encoder)
        return self._encoder

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, context: bool = True
    ) -> list[Hit]:
        """The `k` best chunks, best first. `path` is a glob; without `context` the query gets the null context.

        Raises QueryError for an empty query and IndexStateError for an index that cannot be used. Where updates
        have removed the generation that was open, the newest one is opened and answers.
        """
        if not query.strip():
            raise QueryError("The query is empty.", "Type some words.")
        try:
            return self._answer(query, k, mode, path, context)
        except IndexDamagedError:
            newest = Index(self.index.folder)
            if newest.generation == self.index.generation:
                raise
            self.index = newest
            return self._answer(query, k, mode, path, context)

    def is_cut(self, query: str) -> bool:
        """Is the query longer than the model reads? Full text uses all of it."""
        encoder = self.encoder
        return len(encoder.tokenizer.encode(query).ids) > encoder.max_tokens

    def _answer(self, query: str, k: int, mode: Mode, path: str | None, context: bool) -> list[Hit]:
        condition = path_condition(path) if path else None
        limit = max(k, CANDIDATES)
        if mode == "text":
            rows, text = self._matching(query, limit, condition)
            return self._hits(_Ranking.best(k, rows, text, text=text))
        # The index opens, and in hybrid mode full text searches, while the model loads and encodes.
        side = self._pool.submit(self._matching, query, limit, condition) if mode == "hybrid" else None
        opened = self._pool.submit(lambda: self.index.chunks)
        vector = self.encoder.encode([query], "query", self.index.context if context else None)[0]
        opened.result()
        near, near_scores = self._nearest(vector, limit, condition)
        if side is None:
            return self._hits(_Ranking.best(k, near, near_scores, dense=near_scores))
        said, said_scores = side.result()
        rows = np.union1d(near, said)
        dense, text = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        dense[np.searchsorted(rows, near)] = near_scores
        text[np.searchsorted(rows, said)] = said_scores
        unknown = np.isnan(dense)
        dense[unknown] = self._cosines(rows[unknown], vector)
        return self._hits(_Ranking.best(k, rows, fuse(dense, text), dense=dense, text=text))

    def _nearest(self, vector: NDArray[np.float32], limit: int, condition: str | None) -> tuple[Rows, Scores]:
        """Sorted row ids and cosines of the nearest chunks; what the graph index rounds is computed again."""
        search = self.index.chunks.search(vector).distance_type("cosine").ef(max(SEARCH_WIDTH, limit)).refine_factor(1)
        table = self._candidates(search, "_distance", limit, condition).sort_by("_rowid")
        return table["_rowid"].to_numpy(), 1 - table["_distance"].to_numpy().astype(np.float64)

    def _matching(self, query: str, limit: int, condition: str | None) -> tuple[Rows, Scores]:
        """Sorted row ids and BM25 of the chunks that share most with the query's words."""
        search = self.index.chunks.search(query, query_type="fts", fts_columns="text")  # words, never syntax
        table = self._candidates(search, "_score", limit, condition).sort_by("_rowid")
        return table["_rowid"].to_numpy(), table["_score"].to_numpy().astype(np.float64)

    def _candidates(self, search: Any, score: str, limit: int, condition: str | None) -> Any:
        """Row ids and scores alone: other columns of 100 candidates would cost more than the search."""
        if condition:
            search = search.where(condition, prefilter=True)
        return self._read(search.limit(limit).select([score]).with_row_id(True))

    def _cosines(self, rows: Rows, vector: NDArray[np.float32]) -> Scores:
        """Exact scores of `rows` (sorted), (n,)."""
        if not len(rows):
            return np.empty(0)
        query = self.index.chunks.take_row_ids(rows.tolist()).select(["vector"]).with_row_id()
        table = self._read(query).sort_by("_rowid")
        vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(len(rows), -1)
        cosines: Scores = (vectors @ vector).astype(np.float64)
        return cosines

    def _hits(self, ranking: _Ranking) -> list[Hit]:
        if not len(ranking.rows):
            return []
        query = self.index.chunks.take_row_ids(ranking.rows.tolist()).select(CHUNK_COLUMNS).with_row_id()
        chunks = {row.pop("_rowid"): row for row in self._read(query).to_pylist()}
        return [
            Hit(
                rank=place + 1,
                score=float(ranking.scores[place]),
                chunk=Chunk(**{**chunks[row], "trail": tuple(chunks[row]["trail"])}),
                dense_score=_at(ranking.dense, place),
                text_score=_at(ranking.text, place),
            )
            for place, row in enumerate(ranking.rows.tolist())
        ]

    def _read(self, query: Any) -> Any:
        """An Arrow table; raises IndexDamagedError where files of the index are gone or broken."""
        try:
            return query.to_arrow()
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).partition("\n")[0][:200]
            raise IndexDamagedError(f"{self.index.folder} cannot be searched ({reason}).", REBUILD) from error


def _at(scores: Scores | None, place: int) -> float | None:
    return None if scores is None or np.isnan(scores[place]) else float(scores[place])

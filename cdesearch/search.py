"""Query to hits: dense, full text, and both fused."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdesearch.context import Floats
from cdesearch.encoder import Device, Encoder, load_encoder
from cdesearch.errors import IndexDamagedError, QueryError
from cdesearch.fusion import Scores, fuse
from cdesearch.index import REBUILD, Index
from cdesearch.path_filter import path_condition
from cdesearch.schema import CHUNK_COLUMNS, Hit, chunk_from_row

Mode = Literal["hybrid", "dense", "text"]
Rows = NDArray[np.uint64]  # LanceDB's row ids: they hold within one generation

CANDIDATES = 100  # of each side; 300 gain 0.1 to 0.4 points of nDCG@10 on whole documents and cost 9 ms
SEARCH_WIDTH = 150  # nodes that the graph index keeps in view; recall@10 .995 at 100,000 chunks


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What one side found."""

    rows: Rows
    scores: Scores  # the side's own
    vectors: Floats  # (n, d)

    def cosines(self, vector: Floats) -> Scores:
        """Exact ones, (n,)."""
        cosines: Scores = (self.vectors @ vector).astype(np.float64)
        return cosines


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
        """The `k` highest; of equal scores the lowest row, so that a query always answers the same."""
        top = np.lexsort((rows, -scores))[:k]
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
            said = self._matching(query, limit, condition)
            return self._hits(_Ranking.best(k, said.rows, said.scores, text=said.scores))
        # The index opens, and in hybrid mode full text searches, while the model loads and encodes.
        side = self._pool.submit(self._matching, query, limit, condition) if mode == "hybrid" else None
        opened = self._pool.submit(lambda: self.index.chunks)
        vector = self.encoder.encode([query], "query", self.index.context if context else None)[0]
        opened.result()
        near = self._nearest(vector, limit, condition)
        if side is None:
            dense = near.cosines(vector)
            return self._hits(_Ranking.best(k, near.rows, dense, dense=dense))
        said = side.result()
        rows = np.union1d(near.rows, said.rows)
        dense, text = np.empty(len(rows)), np.full(len(rows), np.nan)
        for found in (near, said):
            dense[np.searchsorted(rows, found.rows)] = found.cosines(vector)
        text[np.searchsorted(rows, said.rows)] = said.scores
        null = (self.index.context.own_vectors @ vector).astype(np.float64)
        return self._hits(_Ranking.best(k, rows, fuse(dense, text, null), dense=dense, text=text))

    def _nearest(self, vector: Floats, limit: int, condition: str | None) -> _Candidates:
        """The nearest chunks by the index's own rounding."""
        search = self.index.chunks.search(vector, "vector").distance_type("cosine").ef(max(SEARCH_WIDTH, limit))
        return self._candidates(search, "_distance", limit, condition)

    def _matching(self, query: str, limit: int, condition: str | None) -> _Candidates:
        """The chunks that share most with the query's words, by BM25."""
        search = self.index.chunks.search(query, query_type="fts", fts_columns="text")  # words, never syntax
        return self._candidates(search, "_score", limit, condition)

    def _candidates(self, search: Any, score: str, limit: int, condition: str | None) -> _Candidates:
        """Other columns of a hundred candidates would cost more than the search: they are read for the hits alone."""
        if condition:
            search = search.where(condition, prefilter=True)
        table = self._read(search.limit(limit).select([score, "vector"]).with_row_id(True))
        dimension = table.schema.field("vector").type.list_size
        return _Candidates(
            rows=table["_rowid"].to_numpy(),
            scores=table[score].to_numpy().astype(np.float64),
            vectors=table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension),
        )

    def _hits(self, ranking: _Ranking) -> list[Hit]:
        if not len(ranking.rows):
            return []
        query = self.index.chunks.take_row_ids(ranking.rows.tolist()).select(CHUNK_COLUMNS).with_row_id()
        chunks = {row["_rowid"]: chunk_from_row(row) for row in self._read(query).to_pylist()}
        return [
            Hit(
                rank=place + 1,
                score=float(ranking.scores[place]),
                chunk=chunks[row],
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

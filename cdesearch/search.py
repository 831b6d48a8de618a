"""Query to hits: dense, full text, and both fused."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cdesearch.checksums import is_panic
from cdesearch.context import Floats
from cdesearch.document_context import to_unit
from cdesearch.encoder import Device, Encoder, load_encoder
from cdesearch.errors import IndexDamagedError, QueryError
from cdesearch.fusion import NOISE_RANK, Scores, fuse
from cdesearch.hub import stored_model
from cdesearch.index import REBUILD, Index, answered
from cdesearch.path_filter import path_condition
from cdesearch.schema import CHUNK_COLUMNS, Hit, chunk_from_row
from cdesearch.trust import require_trust

Mode = Literal["hybrid", "dense", "text"]
Rows = NDArray[np.uint64]  # LanceDB's row ids: they hold within one generation

OVERSAMPLE = 3  # the graph index ranks by rounded vectors: of so many times k the exact cosines choose
SEARCH_WIDTH = 150  # nodes that the graph index keeps in view; recall@10 .995 at 100,000 chunks


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What one side found, with its own scores and the chunks' vectors."""

    rows: Rows
    scores: Scores
    vectors: Floats  # (n, d); none where nobody asked
    documents: Sequence[str]  # (n,) the same

    @classmethod
    def of(cls, table: Any, score: str) -> "_Candidates":
        """The rows of an Arrow table."""
        vectors = np.empty((table.num_rows, 0), np.float32)
        if "vector" in table.column_names:
            dimension = table.schema.field("vector").type.list_size
            vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
        documents = table["document_id"].to_pylist() if "document_id" in table.column_names else ()
        return cls(table["_rowid"].to_numpy(), table[score].to_numpy().astype(np.float64), vectors, documents)

    def cosines(self, vector: Floats) -> Scores:
        """Exact ones, (n,), with a unit vector (d,)."""
        cosines: Scores = (to_unit(self.vectors) @ vector).astype(np.float64)
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
    """An open index and the model that built it. The model is loaded when the first dense query needs it.

    `model` is the user's own word for the model that built the index: a folder, or an id that is in the cache. Without
    it the model that the index names is used, where the user has confirmed it.
    """

    def __init__(
        self, index: Index, encoder: Encoder | None = None, device: Device = "auto", model: Path | None = None
    ) -> None:
        self.index = index
        self._model = model
        self._encoder = encoder
        self._device = device
        self._pool = ThreadPoolExecutor(thread_name_prefix="cdesearch-text")

    @property
    def encoder(self) -> Encoder:
        """The model; raises ModelError, IndexUntrustedError, or IndexMismatchError where another built the index."""
        if self._encoder is None:
            if self._model is None:
                require_trust(self.index, folders=False)
            model = self._model or stored_model(self.index.manifest.model)
            self._encoder = load_encoder(model, self._device, fetch=False)
        self.index.check_encoder(self._encoder)
        return self._encoder

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, context: bool = True
    ) -> list[Hit]:
        """The `k` best chunks, best first. `path` is a glob; without `context` the query gets the null context.

        Raises QueryError for a query, `k`, `mode` or `path` that has no meaning and IndexStateError for an index that
        cannot be used. Where updates have removed the generation that was open, the newest one is opened and answers.
        """
        _check(query, k, mode, path)
        k = min(k, max(1, self.index.manifest.n_chunks))  # LanceDB reserves memory for as many as are asked for
        reader = copy(self)  # one answer reads one generation, even where another thread moves on to a newer one
        try:
            with reader.index.checks.explaining():
                return reader._answer(query, k, mode, path, context)
        except IndexDamagedError:
            newest = Index(self.index.folder)
            if newest.generation == reader.index.generation:
                raise
            self.index = reader.index = newest
            return reader._answer(query, k, mode, path, context)
        finally:
            self._encoder = self._encoder or reader._encoder

    def is_cut(self, query: str) -> bool:
        """Is the query longer than the model reads? Full text uses all of it."""
        encoder = self.encoder
        return len(encoder.tokenizer.encode(encoder.config.query_prefix + query).ids) > encoder.max_tokens

    def _answer(self, query: str, k: int, mode: Mode, path: str | None, context: bool) -> list[Hit]:
        condition = path_condition(path) if path else None
        if mode == "text":
            said = self._matching(query, k, condition, ["_score"])
            return self._hits(_Ranking.best(k, said.rows, said.scores, text=said.scores))
        # The index opens, and in hybrid mode full text searches, while the model loads and encodes.
        opened = self._pool.submit(lambda: self.index.asked_chunks)
        wants_text = mode == "hybrid"
        columns = ["vector", "document_id"] if wants_text and self.index.manifest.has_parts else ["vector"]
        later = self._pool.submit(self._matching, query, k, condition, ["_score", *columns]) if wants_text else None
        vector = self.encoder.encode([query], "query", self.index.context_for(self.encoder) if context else None)[0]
        opened.result()
        near = self._nearest(vector, k, condition, ["_distance", *columns])
        if later is None:
            dense = near.cosines(vector)
            return self._hits(_Ranking.best(k, near.rows, dense, dense=dense))
        return self._hits(self._fused(k, vector, near, later.result()))

    def _fused(self, k: int, vector: Floats, near: _Candidates, said: _Candidates) -> _Ranking:
        rows = np.union1d(near.rows, said.rows)
        dense, text = np.empty(len(rows)), np.full(len(rows), np.nan)
        for found in (near, said):
            dense[np.searchsorted(rows, found.rows)] = found.cosines(vector)
        text[np.searchsorted(rows, said.rows)] = said.scores
        null = (self.index.context.sample_vectors @ vector).astype(np.float64)
        documents = None
        if self.index.manifest.has_parts:
            of = {row: name for found in (near, said) for row, name in zip(found.rows, found.documents, strict=True)}
            documents = [of[row] for row in rows]
        return _Ranking.best(k, rows, fuse(dense, text, null, documents), dense=dense, text=text)

    def _nearest(self, vector: Floats, k: int, condition: str | None, columns: list[str]) -> _Candidates:
        """Among them the `k` nearest chunks: what text does not favour must be one of these to be a hit."""
        limit = OVERSAMPLE * k
        search = self.index.asked_chunks.query().nearest_to(vector).distance_type("cosine").ef(max(SEARCH_WIDTH, limit))
        return _Candidates.of(self._found(search, columns, limit, condition), "_distance")

    def _matching(self, query: str, k: int, condition: str | None, columns: list[str]) -> _Candidates:
        """The chunks that share most with the query's words, by BM25; below its noise rank text adds nothing."""
        search = self.index.asked_chunks.query().nearest_to_text(query, columns="text")  # words, never syntax
        return _Candidates.of(self._found(search, columns, max(k, NOISE_RANK), condition), "_score")

    def _found(self, search: Any, columns: list[str], limit: int, condition: str | None) -> Any:
        """Other columns of a hundred candidates would cost more than the search: they are read for the hits alone."""
        if condition:
            search = search.where(condition)
        found = self._read(search.limit(limit).select(columns).with_row_id())
        if "vector" in columns and not np.isfinite(found["vector"].combine_chunks().flatten().to_numpy()).all():
            raise IndexDamagedError(f"{self.index.folder} holds vectors that are no numbers.", REBUILD)
        return found

    def _hits(self, ranking: _Ranking) -> list[Hit]:
        if not len(ranking.rows):
            return []
        query = self.index.asked_chunks.take_row_ids(ranking.rows.tolist()).select(CHUNK_COLUMNS).with_row_id()
        rows = self._read(query).to_pylist()
        try:
            chunks = {row["_rowid"]: chunk_from_row(row) for row in rows}
        except ValueError as error:
            raise IndexDamagedError(f"{self.index.folder} cannot be searched ({error}).", REBUILD) from None
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
            with self.index.checks.explaining():
                return answered(query.to_arrow())
        except BaseException as error:
            if not isinstance(error, OSError | RuntimeError | ValueError) and not is_panic(error):
                raise
            reason = str(error).partition("\n")[0][:200]
            raise IndexDamagedError(f"{self.index.folder} cannot be searched ({reason}).", REBUILD) from error


def _check(query: str, k: int, mode: str, path: str | None) -> None:
    for name, value, kind in (("query", query, str), ("path", path, str | None), ("k", k, Integral)):
        if not isinstance(value, kind):
            wanted = "a whole number" if name == "k" else "text"
            raise QueryError(f"The {name} is of type {type(value).__name__}.", f"Give {wanted}.")
    if not query.strip():
        raise QueryError("The query is empty.", "Type some words.")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in query):  # how Python keeps bytes that are not UTF-8
        raise QueryError("The query is not valid Unicode.", "Type it in UTF-8.")
    if k < 1:
        raise QueryError(f"{k} is not a number of hits.", "Ask for at least one.")
    if mode not in get_args(Mode):
        raise QueryError(f"There is no mode {mode}.", f"Use one of {', '.join(get_args(Mode))}.")


def _at(scores: Scores | None, place: int) -> float | None:
    return None if scores is None or np.isnan(scores[place]) else float(scores[place])

"""One query on one generation of an index: candidates of both sides, their fused scores, and the hits."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import IndexDamagedError
from cdesearch.search.fusion import Candidates, Fusion, Scores
from cdesearch.search.path_filter import path_condition
from cdesearch.search.result import SearchResult
from cdesearch.store.damage import damaged
from cdesearch.store.folder import rebuild_remedy
from cdesearch.store.index import Index, run_async
from cdesearch.store.schema import CHUNK_COLUMNS, Hit, chunk_from_row

Mode = Literal["hybrid", "dense", "text"]
RowIds = NDArray[np.uint64]  # LanceDB's; they are valid within one generation

SEARCH_WIDTH = 150  # candidates that a search of the graph index keeps; recall@10 .995 at 100,000 chunks


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its options."""

    text: str
    k: int
    mode: Mode
    paths: tuple[str, ...] | None  # globs; the path of a hit matches at least one of them. None: every path


@dataclass(frozen=True, slots=True)
class _Found:
    """The results of the dense or the lexical search, with their scores and vectors."""

    rows: RowIds  # (n,)
    scores: Scores  # (n,)
    vectors: Floats  # (n, d), or (n, 0) if the query did not select them
    documents: Sequence[str]  # (n,), or empty if not selected

    @classmethod
    def from_table(cls, table: Any, score: str) -> "_Found":
        """The rows of an Arrow table."""
        vectors = np.empty((table.num_rows, 0), np.float32)
        if "vector" in table.column_names:
            dimension = table.schema.field("vector").type.list_size
            vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
        documents = table["document_id"].to_pylist() if "document_id" in table.column_names else ()
        return cls(table["_rowid"].to_numpy(), table[score].to_numpy().astype(np.float64), vectors, documents)

    def cosines(self, vector: Floats) -> Scores:
        """(n,) exact cosines with a unit vector (d,); NaN for zeros, which stand for a vector that is not there yet."""
        cosines: Scores = (to_unit(self.vectors) @ vector).astype(np.float64)
        cosines[~self.vectors.any(axis=1)] = np.nan
        return cosines


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Row ids and scores of hits, best first. A search that was not run has no scores."""

    rows: RowIds
    scores: Scores
    dense: Scores | None  # NaN for rows without a vector
    text: Scores | None  # NaN for rows that full text did not find

    @classmethod
    def best(
        cls, k: int, rows: RowIds, scores: Scores, dense: Scores | None = None, text: Scores | None = None
    ) -> "_Ranking":
        """The `k` highest scores; of equal scores the lowest row, so that a query always has the same hits."""
        top = np.lexsort((rows, -scores))[:k]
        sides = (None if side is None else side[top] for side in (dense, text))
        return cls(rows[top], scores[top], *sides)


class GenerationReader:
    """Answers queries from one generation, which a running update never changes."""

    def __init__(self, index: Index, encoder: Callable[[Index], Encoder], executor: Executor, fusion: Fusion) -> None:
        self.index = index
        self._load = encoder
        self._executor = executor
        self._fusion = fusion

    @cached_property
    def encoder(self) -> Encoder:
        """The model, which the first call loads; raises ModelError, and IndexStateError if it cannot be used."""
        return self._load(self.index)

    def search(self, query: Query) -> SearchResult:
        """The best chunks; raises IndexStateError, ModelError, and QueryError for an invalid glob."""
        if not self.index.manifest.n_chunks:  # all of its files were deleted
            return SearchResult(())
        with self.index.checks.reporting_damage():
            condition = None if query.paths is None else path_condition(*query.paths)
            # The first stage of a build has no vectors.
            if query.mode == "text" or (query.mode == "hybrid" and self.index.manifest.n_vectors == 0):
                found = self._lexical_hits(query, condition, ["_score"])
                return SearchResult(self._hits(_Ranking.best(query.k, found.rows, found.scores, text=found.scores)))
            return self._search_with_model(query, condition)

    def has_file(self, globs: Sequence[str]) -> bool:
        """Whether the path of an indexed file matches one of `globs`."""
        query = self.index.async_chunks.query().where(path_condition(*globs)).select(["path"]).limit(1)
        return bool(self._read(query).num_rows)

    def _search_with_model(self, query: Query, condition: str | None) -> SearchResult:
        # The index opens, and in hybrid mode full text searches, while the model loads and encodes.
        opened = self._executor.submit(lambda: self.index.async_chunks)
        is_hybrid = query.mode == "hybrid"
        columns = ["vector", "document_id"] if is_hybrid and self.index.manifest.has_parts else ["vector"]
        later = self._executor.submit(self._lexical_hits, query, condition, ["_score", *columns]) if is_hybrid else None
        encoder = self.encoder
        vector = encoder.encode([query.text], "query", self.index.context_for(encoder))[0]
        opened.result()
        dense_hits = self._dense_hits(vector, query.k, condition, ["_distance", *columns])
        if later is None:
            cosines = dense_hits.cosines(vector)
            ranking = _Ranking.best(query.k, dense_hits.rows, cosines, dense=cosines)
        else:
            ranking = self._fused(query.k, vector, dense_hits, later.result())
        is_truncated = encoder.truncates(query.text, "query")
        return SearchResult(self._hits(ranking), encoder.max_tokens if is_truncated else None)

    def _fused(self, k: int, vector: Floats, dense_hits: _Found, lexical_hits: _Found) -> _Ranking:
        rows, candidates = self._candidates(vector, dense_hits, lexical_hits)
        scores = self._fusion.scores(candidates)
        return _Ranking.best(k, rows, scores, dense=candidates.dense, text=candidates.text)

    def candidates(self, query: Query, vector: Floats) -> tuple[RowIds, Candidates]:
        """The row ids (n,) of the candidates of a hybrid search and their scores, from its text and its vector (d,)."""
        condition = None if query.paths is None else path_condition(*query.paths)
        columns = ["vector", "document_id"] if self.index.manifest.has_parts else ["vector"]
        lexical_hits = self._lexical_hits(query, condition, ["_score", *columns])
        return self._candidates(
            vector, self._dense_hits(vector, query.k, condition, ["_distance", *columns]), lexical_hits
        )

    def _candidates(self, vector: Floats, dense_hits: _Found, lexical_hits: _Found) -> tuple[RowIds, Candidates]:
        rows = np.union1d(dense_hits.rows, lexical_hits.rows)
        dense, text = np.empty(len(rows)), np.full(len(rows), np.nan)
        for found in (dense_hits, lexical_hits):
            dense[np.searchsorted(rows, found.rows)] = found.cosines(vector)
        text[np.searchsorted(rows, lexical_hits.rows)] = lexical_hits.scores
        null = (self.index.context.sample_vectors @ vector).astype(np.float64)
        documents = None
        if self.index.manifest.has_parts:
            document_of = {
                row: name
                for found in (dense_hits, lexical_hits)
                for row, name in zip(found.rows, found.documents, strict=True)
            }
            documents = [document_of[row] for row in rows]
        return rows, Candidates(dense, text, null, documents)

    def _dense_hits(self, vector: Floats, k: int, condition: str | None, columns: list[str]) -> _Found:
        """The nearest chunks, as many as the fusion needs."""
        limit = self._fusion.dense_depth(k)
        search = self.index.async_chunks.query().nearest_to(vector).distance_type("cosine").ef(max(SEARCH_WIDTH, limit))
        found = _Found.from_table(self._select(search, columns, limit, condition), "_distance")
        if condition is None and not len(found.rows):  # Lance leaves out vectors without a distance
            raise damaged(self.index.folder, "it holds vectors that are not numbers")
        return found

    def _lexical_hits(self, query: Query, condition: str | None, columns: list[str]) -> _Found:
        """The chunks with the highest BM25 scores."""
        # The words are matched as they are, not parsed in the query language of the full-text index.
        search = self.index.async_chunks.query().nearest_to_text(query.text, columns="text")
        limit = self._fusion.text_depth(query.k)
        return _Found.from_table(self._select(search, columns, limit, condition), "_score")

    def _select(self, search: Any, columns: list[str], limit: int, condition: str | None) -> Any:
        """Run a search for `columns` alone: other columns of a hundred candidates would cost more than the search."""
        if condition:
            search = search.where(condition)
        found = self._read(search.limit(limit).select(columns).with_row_id())
        if "vector" in columns and not np.isfinite(found["vector"].combine_chunks().flatten().to_numpy()).all():
            raise damaged(self.index.folder, "it holds vectors that are not numbers")
        return found

    def _hits(self, ranking: _Ranking) -> tuple[Hit, ...]:
        if not len(ranking.rows):
            return ()
        query = self.index.async_chunks.take_row_ids(ranking.rows.tolist()).select(CHUNK_COLUMNS).with_row_id()
        rows = self._read(query).to_pylist()
        try:
            chunks = {row["_rowid"]: chunk_from_row(row) for row in rows}
        except ValueError as error:
            raise IndexDamagedError(
                f"{self.index.folder} cannot be searched ({error}).", rebuild_remedy(self.index.folder)
            ) from None
        return tuple(
            Hit(
                rank=i + 1,
                score=float(ranking.scores[i]),
                chunk=chunks[row],
                dense_score=_score_at(ranking.dense, i),
                text_score=_score_at(ranking.text, i),
            )
            for i, row in enumerate(ranking.rows.tolist())
        )

    def _read(self, query: Any) -> Any:
        """An Arrow table; raises IndexDamagedError if files of the index are missing or broken."""
        with self.index.checks.reading_tables():
            return run_async(query.to_arrow())


def _score_at(scores: Scores | None, i: int) -> float | None:
    return None if scores is None or np.isnan(scores[i]) else float(scores[i])

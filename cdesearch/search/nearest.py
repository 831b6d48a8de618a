"""Find the chunks whose vectors are nearest to that of a query."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.token_signs import N_BYTES
from cdesearch.search.documents import read_candidates
from cdesearch.search.fusion import Scores
from cdesearch.store.damage import damaged
from cdesearch.store.index import Index
from cdesearch.store.vector_format import TOKENS

RowIds = NDArray[np.uint64]  # the row ids of LanceDB, which are valid within one generation

SEARCH_WIDTH = 150  # candidates that a search in the graph index keeps; recall@10 is .995 at 100,000 chunks
OVERSAMPLE_SIGNS = 10  # so many times the wanted chunks are candidates if they are found by signs
SMALLEST_PART, MOST_PARTS = 1_000, 4_096  # chunks of a part, and parts of an index; Lance makes no more
# In three times as many chunks, the same share of the nearest ones is in twice as many parts of 1,000: in 8,000, 24,000
# and 73,000 real texts, 5, 11 and 22 parts hold 95% of them.
PARTS_SEARCHED, OF_CHUNKS, GROWTH = 100, 200_000, 2 / 3
MOST_TOKENS = 10_000  # of a chunk
ALL_PARTS = 0  # the value of `maximum_nprobes` that sets no limit


@dataclass(frozen=True, slots=True)
class Found:
    """The n results of the dense or the lexical search, with their scores and vectors."""

    rows: RowIds  # (n,)
    scores: Scores  # (n,) BM25, higher is better, or of the dense search distances, which `cosines` replaces
    vectors: Floats  # (n, d), or (n, 0) if the query did not select them
    documents: Sequence[str]  # (n,) document ids, or empty if the query did not select them
    paths: Sequence[str]  # (n,) of their files, or empty if the query did not select them
    tokens: Sequence[bytes]  # (n,) for late interaction, or empty if the query did not select them
    is_complete: bool = False  # whether no other chunk may be a hit
    unknown: tuple[str, ...] = ()  # words of the query that no chunk contains

    @classmethod
    def from_table(cls, index: Index, table: Any, score: str) -> "Found":
        """Convert an Arrow table, whose column `score` contains the scores; raises IndexDamagedError."""
        vectors = np.empty((table.num_rows, 0), np.float32)
        if set(index.vectors.columns) <= set(table.column_names):
            vectors = index.vectors_in(table)
        documents, paths, tokens = (
            table[name].to_pylist() if name in table.column_names else () for name in ("document_id", "path", TOKENS)
        )
        if any(len(one) % N_BYTES or len(one) > MOST_TOKENS * N_BYTES for one in tokens):
            raise damaged(index.place, "it holds tokens of an impossible size")
        scores = table[score].to_numpy().astype(np.float64)
        return cls(table["_rowid"].to_numpy(), scores, vectors, documents, paths, tokens)

    def cosines(self, vector: Floats) -> Scores:
        """The exact cosines (n,) with a unit vector (d,); NaN for zeros, which stand for a missing vector."""
        cosines: Scores = (to_unit(self.vectors) @ vector).astype(np.float64)
        cosines[~self.vectors.any(axis=1)] = np.nan
        return cosines


def nearest_chunks(index: Index, vector: Floats, limit: int, condition: str | None, columns: Sequence[str]) -> Found:
    """The `limit` chunks that are nearest to a unit vector (d,), with their vectors and other `columns`.

    `condition` is SQL. Raises IndexDamagedError.
    """
    stored = index.vectors
    search = index.async_chunks.query().nearest_to(stored.sought(vector)).column(stored.searched)
    search = search.distance_type(stored.distance)
    wanted = list(dict.fromkeys(["_distance", *stored.columns, *columns]))
    most = limit
    if stored.has_bits:
        search, most = search.nprobes(parts_to_search(index.manifest.n_chunks)), limit * OVERSAMPLE_SIGNS
        if condition:  # the nearest parts may hold too few chunks that meet it
            search = search.maximum_nprobes(ALL_PARTS)
    else:
        search = search.ef(max(SEARCH_WIDTH, limit))
    table = read_candidates(index, search, wanted, most, condition)
    if most > limit:  # the candidates were found by approximate distances
        cosines = Found.from_table(index, table, "_distance").cosines(vector)
        table = table.take(np.argsort(-cosines, kind="stable")[:limit])
    found = Found.from_table(index, table, "_distance")
    if condition is None and not len(found.rows):  # Lance omits vectors whose distance is not a number
        raise damaged(index.place, "it holds vectors that are not numbers")
    return found


def chunks_per_part(n_chunks: int) -> int:
    """How many chunks a part of an index has on average, if its vectors are divided into parts."""
    return max(SMALLEST_PART, math.ceil(n_chunks / MOST_PARTS))


def parts_to_search(n_chunks: int) -> int:
    """How many parts of an index are searched by signs: half of 200, 292 of 1,000, a seventh of 4,096."""
    searched: float = PARTS_SEARCHED * (n_chunks / OF_CHUNKS) ** GROWTH  # parts of SMALLEST_PART chunks
    return max(1, round(searched * SMALLEST_PART / chunks_per_part(n_chunks)))

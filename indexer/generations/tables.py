"""The LanceDB tables of a generation: their rows, their full-text and vector indexes, and their compaction."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from cdesearch.search.nearest import chunks_per_part
from cdesearch.store.guard import TABLES
from cdesearch.store.schema import chunk_schema
from cdesearch.store.storage import connect
from cdesearch.store.vector_format import VECTOR_INDEX, VectorFormat
from cdesearch.words.analyzer import LONGEST, NAMED

# Vector indexes on 2 busy cores, 384 dimensions, 100 neighbours: median ms of a search by the number of chunks, in
# parentheses seconds to build, then the size of the index relative to that of the vectors:
#                         10,000      50,000     100,000
#   flat                       9          33          74
#   IVF_HNSW_SQ, refined       7 (4 s)   6.5 (23 s)  6.8 (27 s in 16 parts, 74 s in one), 0.36; recall@10 .998
#   IVF_FLAT                   4          7          11 (14 s), 2.0
#   IVF_SQ, refined           10         28          50 (20 s), 0.51
#   IVF_PQ 96, refined         6         12          11 (378 s), 0.14; recall@10 .997
VECTOR_INDEX_FROM = 10_000
BITS_INDEX_FROM = 200_000  # of 100,000 signs, a search of all parts takes 1 to 3 ms longer than one of half
LONGEST_WORD = len(NAMED) + 4 * LONGEST  # bytes
WORD_INDEX = "words_idx"
WORD_SEGMENTS_FROM = 50_000  # chunks: below, LanceDB writes the index of words in less time than pylance takes
NAMES_PER_QUERY = 10_000  # each query reads a column of the whole table
# A search visits all segments: each costs about a millisecond of processor time. So an update joins segments of vectors
# with fewer than so many times the chunks that it adds. That leaves three or four on average.
JOIN_RATIO = 16
LARGEST_RATIO = 4  # of the largest segment: built again when a fifth of the chunks is in others
FRAGMENT_BITS = 32  # a row id is the number of the fragment, and in its lowest 32 bits the number of the row
NO_ROWS = np.empty(0, np.uint64)


class Tables:
    """The LanceDB tables of one generation that is being built."""

    def __init__(self, generation: Path, vectors: VectorFormat) -> None:
        self._generation = generation
        self._database = connect(generation)
        self.vectors = vectors
        self._schema = chunk_schema(vectors)
        self.chunks: Any = self._database.create_table("chunks", schema=self._schema, exist_ok=True)

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Floats]:
        """The vectors (d,) of chunks, by chunk id."""
        found: dict[str, Floats] = {}
        for names in sql_lists(ids):
            search = self.chunks.search().where(f"id IN ({names})").select(["id", *self.vectors.columns])
            rows = search.limit(len(ids)).to_arrow()
            found.update(zip(rows["id"].to_pylist(), self.vectors.decode(rows), strict=True))
        return found

    def under(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """The chunk id and document id of every chunk under one of `paths`."""
        found: list[tuple[str, str]] = []
        limit = self.chunks.count_rows()
        for names in sql_lists(sorted(paths)):
            search = self.chunks.search().where(f"path IN ({names})").select(["id", "document_id"]).limit(limit)
            rows = search.to_arrow()
            found += zip(rows["id"].to_pylist(), rows["document_id"].to_pylist(), strict=True)
        return found

    def add(self, rows: pa.Table, vectors: Floats, tokens: Sequence[bytes]) -> None:
        """Append chunks with their vectors (n, d) and their tokens in one commit."""
        columns = self.vectors.arrays(vectors, tokens)
        self.chunks.add(pa.Table.from_arrays([*rows.columns, *columns], schema=self._schema))

    def copy(self, table: Any, ids: Iterable[str]) -> None:
        """Append the chunks with these ids, in the order of the table of another generation, from this table."""
        for names in sql_lists(list(ids)):
            self.chunks.add(table.search().where(f"id IN ({names})").limit(NAMES_PER_QUERY).to_arrow())

    def delete(self, ids: Iterable[str]) -> None:
        """Remove the chunks with these ids."""
        for names in sql_lists(sorted(ids)):
            self.chunks.delete(f"id IN ({names})")

    def write_documents(self, documents: pa.Table) -> None:
        """Replace the documents table by `documents`, rows of its schema."""
        # A new table has one version and one file. An overwritten one would have to be compacted.
        self._database.drop_table("documents", ignore_missing=True)
        self._database.create_table("documents", data=documents)

    def finish(self, *, has_all_vectors: bool = True) -> None:
        """Bring both indexes up to date, merge small files and drop every old table version.

        A table in which chunks lack a vector gets no graph index: it would be built again minutes later.
        """
        with _temporary_files_in(self._generation / "tmp"):
            self._update_indexes(has_all_vectors=has_all_vectors)

    def _update_indexes(self, *, has_all_vectors: bool) -> None:
        from lancedb.index import LabelList

        self._join_segments()
        self._index_new_words()
        # Versions are dropped before indexes are merged, so the second call drops what the first one has replaced.
        for _ in range(2):  # no other process has this generation open
            self.chunks.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        n_chunks = self.chunks.count_rows()
        is_large = has_all_vectors and n_chunks >= (BITS_INDEX_FROM if self.vectors.has_bits else VECTOR_INDEX_FROM)
        lacks_vectors = is_large and self.chunks.index_stats(VECTOR_INDEX) is None
        # New indexes come last, because a compaction after them would build them a second time.
        indexes = {index.name for index in self.chunks.list_indices()}
        if WORD_INDEX not in indexes:
            self._index_words()
        if "fields_idx" not in indexes:
            self.chunks.create_index("fields", config=LabelList(), name="fields_idx")
        if lacks_vectors:
            self._index_vectors(n_chunks)
        self.chunks.checkout_latest()

    def _index_vectors(self, n_chunks: int) -> None:
        """Build a graph of the vectors, or divide them into parts: LanceDB cannot update a graph of signs."""
        from lancedb.index import HnswSq, IvfFlat

        config: Any
        if self.vectors.has_bits:
            # Their size is given and not their number: otherwise, Lance joins parts of less than 1,024 chunks when it
            # brings the index up to date, and a search reads twice as many chunks.
            config = IvfFlat(distance_type="hamming", target_partition_size=chunks_per_part(n_chunks))
        else:
            # Several parts are built faster, but Lance joins parts below 262,144 rows whenever it brings an index up to
            # date: the first update of one file would build all graphs again, for minutes.
            config = HnswSq(distance_type="cosine", num_partitions=1, m=16, ef_construction=150)
        self.chunks.create_index(self.vectors.searched, config=config, name=VECTOR_INDEX)

    def _index_words(self) -> None:
        """Build the full-text index of the words, which the analyzer has separated by spaces."""
        from lancedb.index import FTS

        config = FTS(
            with_position=False,
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            max_token_length=LONGEST_WORD + 1,  # the first length that is left out
        )
        self.chunks.create_index("words", config=config, name=WORD_INDEX, replace=True)

    def _index_new_words(self) -> None:
        """Give the words of new chunks a segment of their own in a large index, if pylance is installed.

        LanceDB joins them with the last segment, which without pylance is the whole index: seconds for each update.
        """
        known = self.chunks.index_stats(WORD_INDEX)
        is_large = known is not None and known.num_indexed_rows >= WORD_SEGMENTS_FROM
        if not is_large or not known.num_unindexed_rows or find_spec("lance") is None:
            return
        import lance

        dataset = lance.dataset(str(self._generation / TABLES / "chunks.lance"))
        sizes = dataset.stats.index_stats(WORD_INDEX)["num_indexed_rows_per_delta"]
        joined = segments_to_join(sizes[::-1], known.num_unindexed_rows)  # the last ones, which are the smallest
        dataset.optimize.optimize_indices(num_indices_to_merge=joined, index_names=[WORD_INDEX])
        self.chunks.checkout_latest()

    def _join_segments(self) -> None:
        """Add some chunks again, or drop the index of vectors, so that it has few segments after this update."""
        rows = rows_to_move(self.chunks, VECTOR_INDEX)
        if rows is None:
            self.chunks.drop_index(VECTOR_INDEX)
        elif len(rows):
            moved = self.chunks.take_row_ids(rows.tolist()).to_arrow()
            for start in range(0, len(rows), NAMES_PER_QUERY):
                some = ", ".join(map(str, rows[start : start + NAMES_PER_QUERY].tolist()))
                self.chunks.delete(f"_rowid IN ({some})")
            self.chunks.add(moved.cast(self._schema))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let Lance write its temporary files to `folder`, because other users can read those in the system's folder."""
    before = {name: os.environ.get(name) for name in ("TMPDIR", "TMP", "TEMP")}
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    folder.mkdir(mode=0o700)
    os.environ.update(dict.fromkeys(before, str(folder)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def identities(table: Any) -> pa.Table:
    """The id, document and path of every chunk in a table."""
    return table.search().select(["id", "document_id", "path"]).limit(table.count_rows()).to_arrow()


def sql_lists(names: Sequence[str]) -> Iterable[str]:
    """SQL lists of at most NAMES_PER_QUERY quoted names."""
    for start in range(0, len(names), NAMES_PER_QUERY):
        yield ", ".join("'" + name.replace("'", "''") + "'" for name in names[start : start + NAMES_PER_QUERY])


def rows_to_move(table: Any, name: str) -> NDArray[np.uint64] | None:
    """The ids of the rows in the small segments of the index `name`, to be added to `table` again as one segment.

    LanceDB cannot join segments of vectors, but it forgets one if every chunk in it is deleted. None means that even
    the largest is too small: the index is to be built again.
    """
    known = table.index_stats(name)
    if known is None or not known.num_unindexed_rows:
        return NO_ROWS
    added = known.num_unindexed_rows
    if known.num_indices == 1:  # the ids of all rows, which take seconds to read in a large table, are not needed
        return None if segments_to_join([known.num_indexed_rows], added) else NO_ROWS
    rows = table.search().select(["_rowid"]).limit(table.count_rows()).to_arrow()["_rowid"].to_numpy()
    fragments = rows >> FRAGMENT_BITS
    numbers, sizes = np.unique(fragments, return_counts=True)
    n_new = 1 + int(np.searchsorted(np.cumsum(sizes[::-1]), added))  # fragments, the last ones
    n_indexed = len(numbers) - n_new
    # Each segment covers one fragment of the table, except the oldest one, which covers all those before.
    segments = np.maximum(np.arange(n_indexed) - max(0, n_indexed - known.num_indices), 0)
    of_segment = np.bincount(segments, sizes[:n_indexed]).astype(int)
    by_size = np.argsort(of_segment, kind="stable")
    n_joined = segments_to_join(of_segment[by_size].tolist(), added)
    if n_joined == len(of_segment):
        return None
    moved: NDArray[np.uint64] = np.sort(
        rows[np.isin(fragments, numbers[:n_indexed][np.isin(segments, by_size[:n_joined])])]
    )
    return moved


def segments_to_join(sizes: Sequence[int], added: int) -> int:
    """How many of the smallest segments, of ascending `sizes`, to join with chunks that are `added`.

    The segments that stay are each many times as large as all smaller ones together, so there are few of them.
    """
    below = [added + sum(sizes[:number]) for number in range(len(sizes))]
    ratios = [JOIN_RATIO if number < len(sizes) else LARGEST_RATIO for number in range(1, len(sizes) + 1)]
    small = [size < ratio * total for size, ratio, total in zip(sizes, ratios, below, strict=True)]
    return max((number for number, is_small in enumerate(small, start=1) if is_small), default=0)

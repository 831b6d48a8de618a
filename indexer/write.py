"""Tables of a generation: rows in, rows out, full-text and vector index, tidied."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.index import connect
from cdesearch.schema import DOCUMENT_SCHEMA, chunk_schema

# Flat search takes 9 ms at 10,000 vectors and 33 ms at 50,000 on 2 cores; the graph index 6 to 7 ms at any of these.
VECTOR_INDEX_FROM = 20_000
NAMES_PER_QUERY = 500


class Tables:
    """The LanceDB tables of one generation that is being built."""

    def __init__(self, generation: Path, dimension: int) -> None:
        self._database = connect(generation)
        self._schema = chunk_schema(dimension)
        self.chunks: Any = self._database.create_table("chunks", schema=self._schema, exist_ok=True)

    def ids_by_path(self) -> dict[str, set[str]]:
        """Ids of the chunks that are in the table, by path."""
        found: dict[str, set[str]] = {}
        table = self.chunks.search().select(["id", "path"]).limit(self.chunks.count_rows()).to_arrow()
        for chunk, path in zip(table["id"].to_pylist(), table["path"].to_pylist(), strict=True):
            found.setdefault(path, set()).add(chunk)
        return found

    def vectors_of(self, paths: Sequence[str]) -> dict[str, Any]:
        """Vectors by content hash of the chunks under these paths."""
        known: dict[str, Any] = {}
        for names in _slices(paths):
            n = self.chunks.count_rows()
            rows = (
                self.chunks.search().where(f"path IN ({names})").select(["content_hash", "vector"]).limit(n).to_arrow()
            )
            known.update(zip(rows["content_hash"].to_pylist(), rows["vector"].to_numpy(), strict=True))
        return known

    def add(self, batch: pa.RecordBatch, vectors: Any) -> None:
        """Append chunks with their vectors (n, d): one commit."""
        flat = pa.array(vectors.reshape(-1), pa.float32())
        column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        self.chunks.add(pa.Table.from_arrays([*batch.columns, column], schema=self._schema))

    def delete(self, ids: Iterable[str]) -> None:
        """Remove chunks."""
        for names in _slices(sorted(ids)):
            self.chunks.delete(f"id IN ({names})")

    def write_documents(self, rows: list[dict[str, Any]]) -> None:
        """Replace the documents table."""
        self._database.create_table(
            "documents", data=pa.Table.from_pylist(rows, schema=DOCUMENT_SCHEMA), mode="overwrite"
        )

    def finish(self) -> None:
        """Bring both indexes up to date, merge small files and drop every old table version."""
        from lancedb.index import FTS, HnswSq

        has = {index.name for index in self.chunks.list_indices()}
        if "text_idx" not in has:
            self.chunks.create_index("text", config=FTS(with_position=False), name="text_idx")
        if "vector_idx" not in has and self.chunks.count_rows() >= VECTOR_INDEX_FROM:
            self.chunks.create_index(
                "vector", config=HnswSq(distance_type="cosine", num_partitions=1), name="vector_idx"
            )
        for name in ("chunks", "documents"):
            table = self._database.open_table(name)
            table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)


def _slices(names: Sequence[str]) -> Iterable[str]:
    """SQL lists of at most NAMES_PER_QUERY quoted names."""
    for start in range(0, len(names), NAMES_PER_QUERY):
        yield ", ".join("'" + name.replace("'", "''") + "'" for name in names[start : start + NAMES_PER_QUERY])

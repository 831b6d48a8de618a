"""Chunks that wait for the model, on disk, because the texts of a large corpus do not fit in memory."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdesearch.store.schema import chunk_schema

WINDOW = 1024  # chunks that are embedded, and committed, together

KEY = "key"  # a column of the spool alone: a hash of everything that a chunk's own vector depends on

_SCHEMA = chunk_schema(None).append(pa.field(KEY, pa.string(), nullable=False))


class Spool:
    """Chunks written once and read window by window, always in the same windows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._waiting: list[pa.RecordBatch] = []
        self._n_waiting = 0
        self._writer = pa.ipc.new_file(str(file), _SCHEMA)
        self._dropped: list[str] = []

    def add(self, chunks: pa.RecordBatch, keys: pa.Array | None = None) -> None:
        """Append chunks, rows of the chunk schema. Without `keys`, the vector of each depends on its text alone."""
        chunks = chunks.append_column(_SCHEMA.field(KEY), chunks["content_hash"] if keys is None else keys)
        while chunks.num_rows:
            taken = chunks.slice(0, WINDOW - self._n_waiting)
            chunks = chunks.slice(taken.num_rows)
            self._waiting.append(taken)
            self._n_waiting += taken.num_rows
            if self._n_waiting == WINDOW:
                self._flush()

    def add_stored(self, table: Any, paths: pa.Array | None) -> None:
        """Append the chunks under these paths, or all, of the table of a generation, in its order."""
        columns = chunk_schema(None)
        for batch in table.search().select(columns.names).limit(table.count_rows()).to_batches(WINDOW):
            kept = (batch if paths is None else batch.filter(pc.is_in(batch["path"], paths))).select(columns.names)
            self.add(pa.RecordBatch.from_arrays(kept.columns, schema=columns))

    def drop(self, paths: Iterable[str]) -> None:
        """Remove the chunks under these paths, because a file became unreadable after they were added."""
        self._dropped += paths

    def close(self) -> None:
        """Finish writing; the spool can be read only after this call."""
        if self._waiting:
            self._flush()
        self._writer.close()

    def windows(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches of at most WINDOW chunks, without vectors."""
        with pa.OSFile(str(self._file)) as stream:
            reader = pa.ipc.open_file(stream)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                if self._dropped:
                    batch = batch.filter(pc.invert(pc.is_in(batch["path"], pa.array(self._dropped, pa.string()))))
                yield batch.select(columns) if columns else batch

    def rows(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """The values of these columns for each chunk."""
        for window in self.windows([*columns]):
            yield from zip(*(window[name].to_pylist() for name in columns), strict=True)

    def count(self) -> int:
        """The number of chunks, without those of removed files."""
        return sum(window.num_rows for window in self.windows(["path"]))

    def _flush(self) -> None:
        self._writer.write_batch(pa.concat_batches(self._waiting))
        self._waiting.clear()
        self._n_waiting = 0


def document_rows(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """The first row of each document, and the row after its last one."""
    names = rows["document_id"].to_numpy()
    return pairwise([0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)])


def whole_documents(spool: Spool) -> Iterator[pa.Table]:
    """The chunks of the spool in tables of whole documents; chunks of a document are consecutive."""
    waiting: list[pa.Table] = []
    for window in spool.windows():
        rows = pa.Table.from_batches([window])
        if not rows.num_rows:
            continue
        names = rows["document_id"].to_numpy()
        others = np.flatnonzero(names != names[-1])
        last = int(others[-1]) + 1 if len(others) else 0
        continues = bool(waiting) and waiting[0]["document_id"][0].as_py() == names[0]
        if last or (waiting and not continues):
            yield pa.concat_tables([*waiting, rows.slice(0, last)])
            waiting.clear()
        waiting.append(rows.slice(last))
    if waiting:
        yield pa.concat_tables(waiting)

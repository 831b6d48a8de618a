"""The chunks that a cluster has read, in files that all of its machines see."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from cdesearch.store.filesystem import sync
from indexer.embedding.spool import WINDOW

PARTS = "parts"
VECTORS = "vectors"
FRAGMENTS = "fragments"
PLACES = "places.npy"


@dataclass(frozen=True, slots=True)
class Part:
    """The chunks of a group of files."""

    name: str  # a hash of the files and of how they were read
    n_chunks: int


@dataclass(frozen=True)
class Parts:
    """All chunks, or a range of them. They are numbered from 0 in the order in which one machine would read them."""

    folder: Path  # of the cluster's files in the unfinished generation
    parts: Sequence[Part]
    window: int  # chunks that are embedded together
    start: int = 0
    stop: int | None = None

    def between(self, start: int, stop: int) -> "Parts":
        """The chunks from number `start` to `stop`."""
        return replace(self, start=start, stop=stop)

    def in_windows(self, first: int, last: int) -> "Parts":
        """The chunks of windows from number `first` to `last`."""
        return self.between(first * self.window, min(last * self.window, self.count()))

    def count(self) -> int:
        """The number of chunks."""
        return (sum(part.n_chunks for part in self.parts) if self.stop is None else self.stop) - self.start

    @property
    def n_windows(self) -> int:
        """The number of windows."""
        return -(-self.count() // self.window)

    def windows(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches of at most `window` chunks, without vectors."""
        waiting: list[pa.RecordBatch] = []
        n_waiting = 0
        for batch in self._batches(columns):
            rest = batch
            while rest.num_rows:
                taken = rest.slice(0, self.window - n_waiting)
                rest = rest.slice(taken.num_rows)
                waiting.append(taken)
                n_waiting += taken.num_rows
                if n_waiting == self.window:
                    yield pa.concat_batches(waiting)
                    waiting, n_waiting = [], 0
        if waiting:
            yield pa.concat_batches(waiting)

    def _batches(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        """The chunks as the files store them."""
        ends = list(accumulate(part.n_chunks for part in self.parts))
        stop = self.start + self.count()
        for part, end in zip(self.parts, ends, strict=True):
            begin = end - part.n_chunks
            if end <= self.start or begin >= stop:
                continue
            # Not mapped: the pages of a mapped file count as memory of the process.
            with pa.OSFile(str(self.folder / PARTS / f"{part.name}.arrow")) as stream:
                reader = _reader(stream, columns)
                # Every batch of a file but the last has WINDOW rows.
                first = max(0, self.start - begin) // WINDOW
                for number in range(first, reader.num_record_batches):
                    row = begin + number * WINDOW  # the number of the batch's first chunk
                    if row >= stop:
                        break
                    batch = reader.get_batch(number)
                    batch = batch.select(columns) if columns else batch  # the reader keeps the order of the file
                    low, high = max(0, self.start - row), min(batch.num_rows, stop - row)
                    yield batch.slice(low, high - low)


def _reader(stream: pa.NativeFile, columns: list[str] | None) -> pa.RecordBatchFileReader:
    """A reader of an Arrow file that reads only the `columns`, or all of them."""
    reader = pa.ipc.open_file(stream)
    if not columns:
        return reader
    chosen = [reader.schema.get_field_index(column) for column in columns]
    return pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(included_fields=chosen))


def is_whole(file: Path, n_chunks: int) -> bool:
    """Whether the file of a part can be read and has so many chunks."""
    try:
        with pa.memory_map(str(file)) as stream:
            reader = pa.ipc.open_file(stream)
            n_batches: int = reader.num_record_batches
            n_last: int = reader.get_batch(n_batches - 1).num_rows if n_batches else 0
    except (OSError, pa.ArrowInvalid):
        return False
    return max(0, n_batches - 1) * WINDOW + n_last == n_chunks


def new_file(file: Path) -> Path:
    """A new name beside `file`, under which it is written before `os.replace` puts it in place as a whole.

    Two workers may write the same file, if one of them was wrongly believed dead.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.with_name(f"{file.name}.{uuid4().hex[:8]}.new")


def put_whole(file: Path, content: bytes) -> None:
    """Write a file, which is there as a whole or not at all."""
    fresh = new_file(file)
    fresh.write_bytes(content)
    put_in_place(fresh, file)


def put_in_place(fresh: Path, file: Path) -> None:
    """Rename a file that has been written. It is flushed first, so that a power failure leaves all of it or nothing."""
    sync(fresh)
    os.replace(fresh, file)  # noqa: PTH105 (Path.replace would do the same)

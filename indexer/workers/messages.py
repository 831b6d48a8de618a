"""The messages between the pool and its workers: a header in JSON, followed by Arrow record batches.

The first message to a worker has the settings and limits of reading. Each further one lists files, and the answers say
what is in them. Nothing is pickled, so a worker that a hostile file controls cannot make the pool run code.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa

from cdesearch.store.file_account import Outcome
from cdesearch.store.schema import chunk_schema
from indexer.files.outcome import Source
from indexer.formats.format import Columns, UnreadableError

TASK_FILES, TASK_BYTES = 32, 64_000  # of small files that are read together
CHUNKS = chunk_schema(None)
DOCUMENTS = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("id", "path", "title")]
    + [pa.field(name, pa.int32(), nullable=False) for name in ("n_chunks", "n_records")]
)

_SIZES = struct.Struct(">III")  # bytes of the header, of the chunks, of the documents
MOST_BYTES = 1 << 30  # of one part; a worker sends far smaller ones


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of reading one file."""

    seconds: float = 60  # without progress, which is a new chunk or, in files of records, a byte read
    part_seconds: float = 20  # for an attachment, or a file in an archive, which is then left out of its file
    parts_seconds: float = 300  # for all of them in a file, and a second more for each `bytes_per_second` of the file
    bytes_per_second: int = 100_000
    memory_bytes: int = 2_000_000_000  # in addition to what a worker needs before it reads a file; only on Linux
    # A small file may contain a huge text, because it is compressed or because Parquet stores a repeated value once.
    characters: int = 200_000_000  # of text in one document, and in all documents of a small file
    characters_per_byte: int = 50  # of text in all documents of a large file; text rarely compresses to a twentieth
    records: int = 100_000  # in a small file; a large file may have one record for each of its bytes
    # In a large file that is compressed or may contain compressed files, in which equal records take almost no bytes.
    bytes_per_packed_record: int = 10

    def check_unpacked(self, characters: int, records: int, size: int, *, is_packed: bool) -> None:
        """Raise UnreadableError if a file of `size` bytes has unpacked to more than it may.

        `is_packed` is whether the file is compressed or may contain compressed files.
        """
        most = max(self.characters, self.characters_per_byte * size)
        if characters > most:
            raise UnreadableError(f"unpacks to more than {most:,} characters of text")
        most = max(self.records, size // self.bytes_per_packed_record if is_packed else size)
        if records > most:
            raise UnreadableError(f"unpacks to more than {most:,} records")


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings that a worker receives once."""

    tokenizer: str  # JSON
    max_tokens: int
    columns: Columns
    max_file_bytes: int
    limits: Limits
    has_ocr: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A message between pool and worker."""

    header: dict[str, Any]
    chunks: bytes = b""  # a serialised record batch
    documents: bytes = b""  # a serialised record batch

    @property
    def size(self) -> int:
        """The size of both batches in bytes."""
        return len(self.chunks) + len(self.documents)


def send(stream: BinaryIO, message: Message) -> None:
    """Write one message and flush."""
    parts = json.dumps(message.header).encode(), message.chunks, message.documents
    stream.write(_SIZES.pack(*map(len, parts)))
    stream.writelines(parts)
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the stream, also if it ends within a message."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    parts = []
    for size in _SIZES.unpack(sizes):
        part = stream.read(size) if size <= MOST_BYTES else b""
        if len(part) < size:
            return None
        parts.append(part)
    header, chunks, documents = parts
    try:
        decoded = json.loads(header)
    except ValueError:
        return None
    return Message(decoded, chunks, documents) if isinstance(decoded, dict) else None


@dataclass(frozen=True, slots=True)
class Ended:
    """A file has been read to its end, or cannot be read, or is not worth reading."""

    reason: str | None  # why it was not read; None if it was
    note: str = ""  # describes what was left out of a file that was read
    columns: tuple[str, ...] = ()  # the columns named by options that the file has, even if it cannot be read
    is_ignored: bool = False  # whether `reason` is a rule that ignores the file

    @property
    def outcome(self) -> Outcome:
        """The outcome of the file, as the file account lists it."""
        if self.reason is None:
            return "indexed"
        return "ignored" if self.is_ignored else "skipped"


@dataclass(frozen=True, slots=True)
class Part:
    """The next chunks of a file, the documents that are complete with them, and how the file ended, if it did."""

    source: Source
    file_hash: str | None  # None if the file could not be opened
    n_chunks: int
    documents: list[dict[str, Any]]  # id, path, title, n_chunks, n_records
    ended: Ended | None


@dataclass(frozen=True, slots=True)
class Read:
    """Some chunks, as rows of the chunk schema, and the parts of files in which they are, one after another."""

    chunks: pa.RecordBatch
    parts: list[Part]


def tasks_of(
    sources: Iterable[Source], most_files: int = TASK_FILES, most_bytes: int = TASK_BYTES
) -> list[list[Source]]:
    """The files in the tasks of workers, in their order: small files together, because a message takes its time."""
    tasks: list[list[Source]] = []
    n_bytes = 0
    for source in sources:
        if not tasks or n_bytes + source.size > most_bytes or len(tasks[-1]) == most_files:
            tasks.append([])
            n_bytes = 0
        tasks[-1].append(source)
        n_bytes += source.size
    return tasks


def described(source: Source, failed: Mapping[str, str], seconds: float = 0.0) -> dict[str, Any]:
    """A file in a task, why parts of it are left out, and how long its parts have taken when it was read before."""
    top = str(source.top) if source.top is not None else None
    task = {"file": source.location, "path": source.path, "size": source.size, "mtime_ns": source.mtime_ns}
    return task | {"top": top, "is_wanted": source.is_wanted, "failed": failed, "seconds": seconds}


def n_ended(message: Message) -> int:
    """How many files have ended with a message."""
    return sum(part["ended"] is not None for part in message.header["files"])


def read_message(message: Message, sources: Sequence[Source]) -> Read:
    """What a message says about the next files of a task."""
    chunks, documents = (
        pa.ipc.read_record_batch(pa.py_buffer(part), schema) if part else pa.RecordBatch.from_pylist([], schema=schema)
        for part, schema in ((message.chunks, CHUNKS), (message.documents, DOCUMENTS))
    )
    rows = iter(documents.to_pylist())
    parts: list[Part] = []
    for part in message.header["files"]:
        source, ended = sources[sum(one.ended is not None for one in parts)], part["ended"]
        end = None if ended is None else Ended(**(ended | {"columns": tuple(ended.get("columns", ()))}))
        parts.append(Part(source, part["hash"], part["n_chunks"], list(islice(rows, part["n_documents"])), end))
    return Read(chunks, parts)

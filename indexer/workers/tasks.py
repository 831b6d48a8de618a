"""Which files workers read together, and what they say about them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from cdesearch.store.file_account import Outcome
from indexer.files.outcome import Source
from indexer.workers.messages import CHUNKS, DOCUMENTS, Message

TASK_FILES, TASK_BYTES = 32, 64_000  # of small files that are read together


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


def tasks_of(sources: Iterable[Source]) -> list[list[Source]]:
    """The files in the tasks of workers, in their order: small files together, because a message takes its time."""
    tasks: list[list[Source]] = []
    n_bytes = 0
    for source in sources:
        if not tasks or n_bytes + source.size > TASK_BYTES or len(tasks[-1]) == TASK_FILES:
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

"""Read files into chunks: what a build does on one machine, and each worker of a cluster with its part of the files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cdesearch.store.file_account import FileRecord
from cdesearch.store.schema import document_schema
from indexer.embedding.spool import Spool
from indexer.files.outcome import Source
from indexer.plan import Record
from indexer.workers.pool import Begun, Pool, ReadChunks, Reading


@dataclass(slots=True)
class FilesRead:
    """What is known about files that were read, apart from their chunks."""

    records: list[Record] = field(default_factory=list)  # of the documents
    files: list[FileRecord] = field(default_factory=list)  # the outcome of each file
    columns: set[str] = field(default_factory=set)  # those named by options that at least one file has

    @property
    def documents(self) -> pa.Table:
        """The rows of the documents table."""
        return pa.Table.from_pylist(self.records, schema=document_schema())


def newest_first(sources: Iterable[Source]) -> list[Source]:
    """The sources in the order in which a build reads them."""
    return sorted(sources, key=lambda source: -source.mtime_ns)


def read_files(
    sources: Sequence[Source], reading: Reading, pool: Pool, spool: Spool, advance: Callable[[int], None]
) -> FilesRead:
    """Read and chunk files into `spool`, which is closed; `advance` is called with 1 after each file."""
    read = FilesRead()
    first, file_hash = 0, None
    for event in pool.read(sources, reading):
        source = event.source
        if isinstance(event, Begun):
            file_hash = event.file_hash
        elif isinstance(event, ReadChunks):
            spool.add(event.chunks)
            # Size and time are from before the file was read, so that the next run finds a change since then.
            stamp = {"path": source.path, "size": source.size, "mtime_ns": source.mtime_ns, "file_hash": file_hash}
            read.records += [document | stamp for document in event.documents]
        else:
            read.columns.update(event.columns)
            if event.reason is not None:
                spool.drop(source.path)
                del read.records[first:]
            reason = event.reason or event.note
            stamps = source.size, source.mtime_ns, file_hash, source.ctime_ns
            read.files.append(FileRecord(source.path, event.outcome, reason, *stamps))
            first, file_hash = len(read.records), None
            advance(1)
    spool.close()
    return read

"""Read files into chunks, and embed them: in processes of this machine, or on a cluster (`indexer.cluster.engine`)."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa

from cdesearch.encode.encoder import Encoder
from cdesearch.errors import InputError
from cdesearch.store.file_account import FileRecord
from cdesearch.store.index import Index
from cdesearch.store.schema import document_schema
from indexer.embedding.embed import Embed, embed_spool, embed_windows
from indexer.embedding.spool import Spool
from indexer.files.outcome import Source
from indexer.formats.format import Columns
from indexer.plan import Plan, Record
from indexer.settings import Settings
from indexer.workers.messages import Reading
from indexer.workers.pool import Pool

SHOWN = 3  # skipped files that an error names
Advance = Callable[[int], None]


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


def read_files(
    sources: Sequence[Source], reading: Reading, pool: Pool, spool: Spool, advance: Callable[[int], None]
) -> FilesRead:
    """Read and chunk files into `spool`, which is closed; `advance` is called with 1 after each file."""
    read = FilesRead()
    first, paths = 0, set[str]()  # the first document of a file, and the paths of its chunks that have come
    for message in pool.read(sources, reading):
        spool.add(message.chunks)
        start = 0
        for part in message.parts:
            source, ended = part.source, part.ended
            # Size and time are from before the file was read, so that the next run finds a change since then.
            stamp = {"size": source.size, "mtime_ns": source.mtime_ns, "file_hash": part.file_hash}
            read.records += [document | stamp for document in part.documents]
            if ended is None:
                paths.update(message.chunks["path"].slice(start, part.n_chunks).to_pylist())
                start += part.n_chunks
                continue
            start += part.n_chunks
            read.columns.update(ended.columns)
            if ended.reason is not None:
                spool.drop(paths)
                del read.records[first:]
            stamps = source.size, source.mtime_ns, part.file_hash, source.ctime_ns
            read.files.append(FileRecord(source.path, ended.outcome, ended.reason or ended.note, *stamps))
            first, paths = len(read.records), set()
            advance(1)
    spool.close()
    return read


def check_columns(found: set[str], settings: Settings, plan: Plan, base: Index | None) -> None:
    """Raise InputError if none of the columns that were `found` is one that this run names, probably mistyped.

    Without this check, all files of records would be skipped, and later updates would keep the wrong name.
    """
    before = Columns(**base.manifest.columns).options() if base else {}
    for option, name in settings.columns.options().items():
        if name in found or before.get(option) == name:
            continue
        reason = next((skipped for skipped in plan.skipped if f"({option}); " in skipped.reason), None)
        there_are = f" In {reason.path} {reason.reason.partition('; ')[2]}." if reason else ""
        raise InputError(
            f"No file of records in {', '.join(map(str, settings.sources))} has a column {name} ({option}).",
            f"Check the spelling.{there_are}{' The index has not changed.' if base else ''}",
        )


def why_nothing_was_read(plan: Plan) -> str:
    """Why a run has read nothing, in its first cases."""
    if plan.skipped:
        files = "; ".join(f"{file.path} ({file.reason})" for file in plan.skipped[:SHOWN])
        more = f"; {len(plan.skipped) - SHOWN} more" if len(plan.skipped) > SHOWN else ""
        return f"Skipped: {files}{more}."
    ignored = next((file for file in plan.files.values() if file.outcome == "ignored"), None)
    if ignored is not None:
        return f"{plan.counts['ignored']} ignored, the first: {ignored.path} ({ignored.reason})."
    return "Its files contain no text." if plan.files else "It contains no files."


@dataclass(frozen=True, slots=True)
class Engine:
    """Reads files and embeds chunks for a build, which does everything else itself."""

    # Reads files into a spool, in their order, and closes it; the last argument is called with 1 after each file.
    read: Callable[[Sequence[Source], Reading, Spool, Advance], FilesRead]
    embed: Embed


def _import_lancedb() -> None:
    """Import LanceDB while this process waits for files: it writes what is read, and the import takes .3 s."""
    with suppress(Exception):  # the import that needs it says what is wrong
        import lancedb  # noqa: F401


def local_engine(pool: Pool, encoder: Encoder) -> Engine:
    """The engine that reads in the processes of a pool, which it ends then, and embeds in this process."""

    def read(sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        threading.Thread(target=_import_lancedb).start()
        found = read_files(sources, reading, pool, spool, advance)
        pool.close()
        return found

    return Engine(read, embed_windows if encoder.joins_chunks else embed_spool)

"""Pass 1: read and chunk groups of files, and rank their chunks for the samples of the context."""

import json
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.context.sample import Ranks, rank_chunks
from cdesearch.errors import ClusterError
from cdesearch.store.file_account import FileRecord
from cdesearch.store.schema import document_schema
from indexer.cluster.parts import PARTS, Part, Parts, is_whole, new_file, put_in_place, put_whole
from indexer.embedding.spool import KEY, WINDOW, Spool
from indexer.files.outcome import Source
from indexer.read_files import FilesRead, read_files
from indexer.workers.pool import Pool, Reading

GROUP_BYTES = 8_000_000  # of files that one task reads, which takes seconds; a task costs half a second
GROUP_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Group:
    """Files that one task reads."""

    number: int
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What is known about a group that was read."""

    part: Part
    documents: pa.Table
    files: list[FileRecord]
    columns: set[str]
    ranks: Ranks  # of chunks that may be among those with the lowest ranks


@dataclass(frozen=True, slots=True)
class Ranking:
    """Which chunks of a part are wanted: the `size` lowest ranks, unless `bound` or more chunks of others are lower."""

    size: int
    seed: int
    bound: tuple[float, str] | None  # the highest rank that can still be drawn; None if it is not known yet


def groups_of(sources: Sequence[Source]) -> Iterator[Group]:
    """Divide files into groups, in their order. The same files always form the same groups."""
    waiting: list[Source] = []
    n_bytes = number = 0
    for source in sources:
        if waiting and (n_bytes + source.size > GROUP_BYTES or len(waiting) == GROUP_FILES):
            yield Group(number, tuple(waiting))
            waiting, n_bytes, number = [], 0, number + 1
        waiting.append(source)
        n_bytes += source.size
    if waiting:
        yield Group(number, tuple(waiting))


def read_group(folder: Path, group: Group, reading: Reading, ranking: Ranking) -> ReadPart:
    """Read the files of a group, unless an earlier task has done it; raises ClusterError if `folder` is not visible."""
    if not folder.is_dir():
        raise ClusterError(
            f"The machine {platform.node()} of the cluster does not see {folder.parent}.",
            "Put the index and its sources on a file system that all machines mount at the same path.",
        )
    name = _name(group, reading)
    described = folder / PARTS / f"{name}.json"
    stored = _stored(described)
    if stored is None:
        _read(described.with_suffix(".arrow"), described, group, reading)
        stored = json.loads(described.read_bytes())
    files = [FileRecord(*record) for record in stored["files"]]
    documents = pa.Table.from_pylist(stored["documents"], schema=document_schema())
    part = Part(name, stored["n_chunks"])
    return ReadPart(part, documents, files, set(stored["columns"]), _ranks(Parts(folder, [part], WINDOW), ranking))


def _stored(described: Path) -> dict[str, Any] | None:
    """The description of a part that an earlier task has read; None unless it and its chunks can be read."""
    try:
        stored: dict[str, Any] = json.loads(described.read_bytes())
    except (OSError, ValueError):
        return None
    return stored if is_whole(described.with_suffix(".arrow"), stored["n_chunks"]) else None


def _read(file: Path, described: Path, group: Group, reading: Reading) -> None:
    fresh = new_file(file)
    spool = Spool(fresh)
    with Pool(1) as pool:  # a process of its own, because a hostile file may crash it or fill the memory
        read = read_files(group.sources, reading, pool, spool, lambda _: None)
    n_chunks = spool.count()
    if _has_gaps(spool, n_chunks):
        fresh = _without_gaps(spool, fresh, file)
    put_in_place(fresh, file)
    put_whole(described, json.dumps(_description(read, n_chunks)).encode())


def _has_gaps(spool: Spool, n_chunks: int) -> bool:
    """Whether chunks were removed again, because their file could not be read to its end."""
    sizes = [window.num_rows for window in spool.windows(["path"])]
    return any(size != WINDOW for size in sizes[:-1]) or len(sizes) != -(-n_chunks // WINDOW)


def _without_gaps(spool: Spool, fresh: Path, file: Path) -> Path:
    """The file of a new spool with the chunks of one in the file `fresh`, without those of removed files."""
    copied = new_file(file)
    copy = Spool(copied)
    for window in spool.windows():
        copy.add(window.drop_columns([KEY]), window[KEY])
    copy.close()
    fresh.unlink()
    return copied


def _description(read: FilesRead, n_chunks: int) -> dict[str, object]:
    files = [astuple(file) for file in read.files]
    return {"n_chunks": n_chunks, "documents": read.records, "files": files, "columns": sorted(read.columns)}


def _name(group: Group, reading: Reading) -> str:
    stamps = [(one.location, one.path, one.size, one.mtime_ns, one.ctime_ns, one.is_wanted) for one in group.sources]
    described = json.dumps([stamps, asdict(reading)], sort_keys=True)
    return blake2b(described.encode(), digest_size=16).hexdigest()


def _ranks(parts: Parts, ranking: Ranking) -> Ranks:
    """The ranks of the chunks of a part, which contains every chunk of its documents."""
    columns = ["id", "document_id", KEY]
    lengths: Counter[str] = Counter()
    for window in parts.windows(["document_id"]):
        lengths.update(window["document_id"].to_pylist())
    rows = (
        row
        for window in parts.windows(columns)
        for row in zip(*(window[name].to_pylist() for name in columns), strict=True)
    )
    found = rank_chunks(rows, lengths, ranking.size, ranking.seed)
    bound = ranking.bound
    return found if bound is None else {content: rank for content, rank in found.items() if rank <= bound}

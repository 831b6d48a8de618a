"""What has changed since the last generation?"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cdesearch.index import Index
from indexer.read import hash_contents
from indexer.walk import Skipped, Source, find_sources

Record = dict[str, Any]  # a row of the documents table

# A file written in the very moment in which it is read may keep its time stamp; file systems count in up to 2 seconds.
STAMP_NS = 2_000_000_000


@dataclass(slots=True)
class Plan:
    """Sources to read, and the records of documents whose file has not changed."""

    to_read: list[Source] = field(default_factory=list)
    kept: list[Record] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # paths whose chunks are out of date
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Is there nothing to do?"""
        return not self.to_read and not self.gone


def make_plan(
    found: Iterable[Source | Skipped], base: Index | None, seen: Callable[[int], None], *, read_all: bool = False
) -> Plan:
    """Compare what was found with the base generation: by size and time first, by hash where those differ.

    With `read_all` every file counts as changed.
    """
    records: dict[str, list[Record]] = {}
    if base is not None:
        for batch in base.documents.to_arrow().to_batches():
            for record in batch.to_pylist():
                records.setdefault(record["path"], []).append(record)
    sure_before = int((base.manifest.updated if base else 0) * 1e9) - STAMP_NS
    plan = Plan()
    for item in found:
        seen(1)
        if isinstance(item, Skipped):
            plan.skipped.append(item)
            continue
        known = records.pop(item.path, [])
        if known and not read_all and _unchanged(item, known[0], sure_before):
            plan.kept += [{**record, "mtime_ns": item.mtime_ns} for record in known]
        else:
            plan.to_read.append(item)
            plan.gone |= {item.path} if known else set()
    plan.gone |= set(records)
    return plan


def count_changes(index: Index) -> dict[str, int]:
    """How many files are `new`, `modified` and `deleted` since the index was built; only doubtful ones are read."""
    sources = [source for source in index.sources if source.exists()]
    found = find_sources(sources, index.root, index.manifest.max_file_bytes)
    plan = make_plan(found, index, lambda _: None)
    unreadable = {path for path, _ in index.manifest.skipped}
    paths = {source.path for source in plan.to_read} - unreadable
    return {
        "new": len(paths - plan.gone),
        "modified": len(paths & plan.gone),
        "deleted": len(plan.gone - paths),
    }


def _unchanged(source: Source, record: Record, sure_before: int) -> bool:
    if source.size != record["size"]:
        return False
    if source.mtime_ns == record["mtime_ns"] < sure_before:
        return True
    try:
        with source.file.open("rb") as stream:
            return bool(hash_contents(stream) == record["file_hash"])
    except OSError:
        return False

"""What has changed since the last generation?"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from cdesearch.index import Index
from indexer.walk import Skipped, Source


@dataclass(slots=True)
class Plan:
    """Sources to read, and the records of documents whose file has not changed."""

    to_read: list[Source] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # paths
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def touched(self) -> list[str]:
        """Paths whose chunks may change."""
        return sorted(self.gone | {source.path for source in self.to_read})


def make_plan(found: Iterable[Source | Skipped], base: Index | None, seen: Callable[[], None]) -> Plan:
    """Compare what was found with the base generation: by size and time first, by hash where those differ."""
    records: dict[str, list[dict[str, Any]]] = {}
    if base is not None:
        for record in base.documents.to_arrow().to_pylist():
            records.setdefault(record["path"], []).append(record)
    plan = Plan()
    for item in found:
        seen()
        if isinstance(item, Skipped):
            plan.skipped.append(item)
            continue
        known = records.pop(item.path, [])
        if known and _unchanged(item, known[0]):
            plan.kept += [{**record, "mtime_ns": item.mtime_ns} for record in known]
        else:
            plan.to_read.append(item)
            plan.gone |= {item.path} if known else set()
    plan.gone |= set(records)
    return plan


def _unchanged(source: Source, record: dict[str, Any]) -> bool:
    if source.size != record["size"]:
        return False
    if source.mtime_ns == record["mtime_ns"]:
        return True
    try:
        return bool(hash_bytes(source.file.read_bytes()) == record["file_hash"])
    except OSError:
        return False


def hash_bytes(data: bytes) -> str:
    """Hash of a file's contents."""
    return blake2b(data, digest_size=16).hexdigest()

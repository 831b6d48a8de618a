"""Plan a build: find out what has changed since the last generation."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from cdesearch import __version__
from cdesearch.builders import UnreadFile
from cdesearch.errors import SourceError
from cdesearch.progress import Progress
from cdesearch.store.file_account import OUTCOMES, FileRecord, Outcome
from cdesearch.store.filesystem import is_available
from cdesearch.store.index import Index
from cdesearch.store.opening import hash_contents, open_regular
from cdesearch.store.schema import document_schema
from indexer.files.outcome import Found, Ignored, Source, portable
from indexer.files.walk import Selection, find_sources
from indexer.formats.format import Columns
from indexer.settings import Settings

Record = dict[str, Any]  # a row of the documents table

# A file that is written while it is read may keep its time stamp: file systems have a resolution of up to 2 seconds.
STAMP_NS = 2_000_000_000


@dataclass(slots=True)
class Plan:
    """The files that a build must read, the documents that it keeps, and the outcome of every file."""

    to_read: list[Source] = field(default_factory=list)
    # Rows of the documents table whose file has not changed. A large corpus has too many for Python objects. Without a
    # change they are not read.
    kept: pa.Table = field(default_factory=lambda: document_schema().empty_table())
    gone: set[str] = field(default_factory=set)  # paths whose chunks are out of date
    files: dict[str, FileRecord] = field(default_factory=dict)  # by path, in the order of the walk
    before: dict[str, FileRecord] = field(default_factory=dict)  # by path, as recorded in the base generation

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to build and nothing new to record."""
        return not self.to_read and not self.gone and not self.has_news

    @property
    def has_news(self) -> bool:
        """Whether the files or their outcomes differ from those in the base generation."""
        if len(self.files) != len(self.before):
            return True
        pairs = zip(self.files.values(), self.before.values(), strict=True)
        changed = ((new, old) for new, old in pairs if new is not old)
        # An outcome is another one, or contents had to be compared once more.
        return any(new.ctime_ns != old.ctime_ns or _outcome(new) != _outcome(old) for new, old in changed)

    @property
    def has_new_times(self) -> bool:
        """Whether a file has another time of change than in the base generation, and the same contents."""
        return any(_is_restamped(file, self.before.get(path)) for path, file in self.files.items())

    @property
    def skipped(self) -> tuple[UnreadFile, ...]:
        """Files and folders that should have been read and were not."""
        return tuple(UnreadFile(file.path, file.reason) for file in self.files.values() if file.outcome == "skipped")

    @property
    def dropped(self) -> tuple[UnreadFile, ...]:
        """Files that still exist and were indexed before, but no longer are."""
        indexed = {path for path, file in self.before.items() if file.outcome == "indexed"}
        files = (file for path, file in self.files.items() if path in indexed and file.outcome != "indexed")
        return tuple(UnreadFile(file.path, file.reason) for file in files)

    @property
    def counts(self) -> dict[str, int]:
        """The number of files by outcome."""
        ends = Counter(file.outcome for file in self.files.values())
        return {outcome: ends[outcome] for outcome in OUTCOMES}


def plan_build(settings: Settings, base: Index | None, progress: Progress, *, rewrites: bool = False) -> Plan:
    """Find the files of a run and compare them with the `base` generation; raises SourceError.

    A run that `rewrites` all chunks needs the documents of `base` even if no file has changed.
    """
    present = [source for source in settings.sources if source not in settings.missing]
    is_read_alike = base is not None and (Columns(**base.manifest.columns), base.manifest.has_ocr) == (
        settings.columns,
        settings.has_ocr,
    )
    selection = Selection(settings.max_file_bytes, settings.globs, settings.source_globs, settings.has_ocr)
    found = find_sources(present, settings.root, selection)
    absent = [portable(source, settings.root) for source in settings.missing]
    seen = progress.stage("Looking for files", None)
    plan = make_plan(found, base, seen, read_all=not is_read_alike, absent=absent, rewrites=rewrites)
    for source in present:
        # Otherwise, all of its documents would be removed from the index.
        if not is_available(source, was_mount=source in settings.mounts):
            raise SourceError(f"{source} disappeared while its files were listed.", "Run the same command again.")
    return plan


def make_plan(
    found: Iterable[Found],
    base: Index | None,
    seen: Callable[[int], None],
    *,
    read_all: bool = False,
    absent: Sequence[str] = (),
    rewrites: bool = False,
) -> Plan:
    """Compare what was found with the base generation: by size and times first, by hash if those differ.

    `seen` is called with 1 for each item. A file that could not be read is tried again only after it has changed, or
    with another version of cdesearch. With `read_all` every file counts as changed. Files under the paths `absent`,
    those of sources that do not exist now, count as unchanged.
    """
    plan, unchanged = _compare(found, base, seen, read_all=read_all)
    unchanged += _keep_absent(plan, absent)
    if base is not None and (rewrites or plan.to_read or plan.has_news):
        with base.checks.reading_tables():
            documents = base.documents.to_arrow()
        unchanged += _in_archives(documents, plan.before, set(unchanged))
        is_kept = pc.is_in(documents["path"], pa.array(unchanged, pa.string()))
        plan.kept = _with_times(documents.filter(is_kept), plan)
        plan.gone = set(documents.filter(pc.invert(is_kept))["path"].unique().to_pylist())
    return plan


def _compare(
    found: Iterable[Found], base: Index | None, seen: Callable[[int], None], *, read_all: bool = False
) -> tuple[Plan, list[str]]:
    """The plan without its documents, and the paths of the files that have not changed."""
    plan, unchanged = Plan(before={file.path: file for file in base.file_records()} if base else {}), []
    sure_before = int((base.manifest.updated if base else 0) * 1e9) - STAMP_NS
    tries_again = base is not None and base.manifest.cdesearch != __version__
    for item in found:
        seen(1)
        if not isinstance(item, Source):
            end: tuple[Outcome, str] = ("ignored", item.rule) if isinstance(item, Ignored) else ("skipped", item.reason)
            plan.files[item.path] = FileRecord(item.path, *end)
            continue
        known = None if read_all else plan.before.get(item.path)
        if known and known.outcome != "indexed" and (tries_again or (known.outcome == "ignored" and item.is_wanted)):
            known = None  # it may be indexed this time, although it has not changed
        if known is not None and _unchanged(item, known, sure_before):
            if known.mtime_ns != item.mtime_ns or known.ctime_ns != item.ctime_ns:
                known = structs.replace(known, mtime_ns=item.mtime_ns, ctime_ns=item.ctime_ns)
            plan.files[item.path] = known
            unchanged.append(item.path)
        else:
            unread = FileRecord(item.path, "skipped", "not read yet", item.size, item.mtime_ns, None, item.ctime_ns)
            plan.files[item.path] = unread
            plan.to_read.append(item)
    return plan, unchanged


def _keep_absent(plan: Plan, absent: Sequence[str]) -> list[str]:
    """Enter the files under `absent` in the plan as they were recorded before; returns their paths."""
    named = {path if path != "." else "" for path in absent}
    kept = {
        path: file
        for path, file in plan.before.items()
        if path not in plan.files and not named.isdisjoint((path, *_folders_above(path)))
    }
    plan.files |= kept
    return list(kept)


def _folders_above(path: str) -> Iterator[str]:
    """The folders that contain a path, up to the root, which is ""."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _in_archives(documents: pa.Table, files: Collection[str], archives: Collection[str]) -> dict[str, str]:
    """The paths of documents in `archives`, with the path of the archive. They are not among the paths of `files`."""
    members = (path for path in documents["path"].unique().to_pylist() if path not in files)
    return {path: above for path in members for above in _folders_above(path) if above in archives}


def _with_times(documents: pa.Table, plan: Plan) -> pa.Table:
    """The documents with the times of change of their files as the plan has them."""
    changed = {path: path for path, file in plan.files.items() if _is_restamped(file, plan.before.get(path))}
    if not changed:
        return documents
    changed |= _in_archives(documents, plan.before, changed)
    times = documents["mtime_ns"].to_numpy().copy()
    paths = documents["path"].to_pylist()
    for row in np.flatnonzero(pc.is_in(documents["path"], pa.array(changed, pa.string())).to_numpy()):
        times[row] = plan.files[changed[paths[row]]].mtime_ns
    number = documents.schema.get_field_index("mtime_ns")
    return documents.set_column(number, documents.schema.field(number), pa.array(times, pa.int64()))


def _is_restamped(file: FileRecord, before: FileRecord | None) -> bool:
    return before is not None and file.mtime_ns != before.mtime_ns


@dataclass(frozen=True, slots=True)
class Changes:
    """How many files have changed since the index was built, and how much an update would read."""

    counts: dict[str, int]  # of `new`, `modified` and `deleted` files
    n_bytes: int  # of new and modified files
    has_news: bool  # whether an update would record anything, such as other times of the same contents


def find_changes(index: Index) -> Changes:
    """What has changed since the index was built; reads only doubtful files."""
    missing = dict.fromkeys(index.missing_sources)
    sources = [source for source in index.sources if source not in missing]
    manifest = index.manifest
    selection = Selection(manifest.max_file_bytes, manifest.globs, index.source_globs, manifest.has_ocr)
    found = find_sources(sources, index.root, selection)
    plan, _ = _compare(found, index, lambda _: None)
    _keep_absent(plan, [portable(source, index.root) for source in missing])
    before = {path: file for path, file in plan.before.items() if file.outcome != "ignored" or file.file_hash}
    new = [source for source in plan.to_read if source.path not in before]
    known = [source for source in plan.to_read if source.path in before]
    modified = [source for source in known if not _is_still_unreadable(source, before[source.path])]
    deleted = sum(file.outcome == "indexed" and path not in plan.files for path, file in before.items())
    counts = {"new": len(new), "modified": len(modified), "deleted": deleted}
    return Changes(counts, sum(source.size for source in [*new, *modified]), plan.has_news)


def count_changes(index: Index) -> dict[str, int]:
    """How many files are `new`, `modified` and `deleted` since the index was built."""
    return find_changes(index).counts


def _outcome(file: FileRecord) -> tuple[str, str, str, str | None]:
    return file.path, file.outcome, file.reason, file.file_hash


def _is_still_unreadable(source: Source, before: FileRecord) -> bool:
    """Whether a file could not be read and has the same size and times since."""
    stamps = source.size, source.mtime_ns, source.ctime_ns
    return before.outcome != "indexed" and (before.size, before.mtime_ns, before.ctime_ns) == stamps


def _unchanged(source: Source, before: FileRecord, sure_before: int) -> bool:
    """Whether a file that was read (one without a hash was not) has the same contents."""
    if before.file_hash is None or source.size != before.size:
        return False
    # A program that replaces a file may keep the time of its contents, as `cp -p` and `mv` do, but never `ctime_ns`.
    is_same = (before.mtime_ns, before.ctime_ns) == (source.mtime_ns, source.ctime_ns)
    if is_same and source.mtime_ns < sure_before:
        return True
    try:
        with open_regular(source.file, source.top) as stream:
            return bool(hash_contents(stream) == before.file_hash)
    except OSError:
        return False

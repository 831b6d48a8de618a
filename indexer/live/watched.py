"""Wait until files of an index have changed, by the events of the file system."""

import math
import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event

from cdesearch.store.filesystem import folder_prefix
from cdesearch.store.layout import MARKER
from cdesearch.store.manifest import Globs
from indexer.files.selection import NO_GLOBS
from indexer.files.unchanged import decides_about_others
from indexer.files.walk import INDEX_FOLDER, concerns_walk
from indexer.live.notifications import ALL_CHECKED, SILENT_SECONDS, limit_problem, notifications

NO_SOURCE_GLOBS: Mapping[Path, Globs] = {}

QUIET_MS = 150  # without another event, before changes are reported
MOST_QUIET_MS = 1_000  # the longest delay of a report by a file that is written all the time
# Many changes at once come from one operation, such as a checkout, which may pause for longer.
MANY = 50
QUIET_MS_OF_MANY = 400
MOST_SECONDS_OF_MANY = 30.0
DELETED = 3  # the number of such a change in `watchfiles`
SURE = 1_000  # changes; with more of them, the system may have dropped events

CHECK_SECONDS = 10.0  # between two checks that each source is still the same folder: an unmount is not an event
MISSING_SECONDS = 3.0  # between two checks whether a missing source exists again
FILE_SECONDS = 0.5  # between two checks of sources that are files: editors replace them, which ends a watch
# Between two reports that all may have changed: a rule elsewhere may change, or events may be lost. If the queue of the
# system overflows, `watchfiles` drops the event that says so.
WHOLE_SECONDS = 600.0

# Other computers may change files on these file systems, and the local kernel reports no event.
SILENT_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "vboxsf", "fuse.", "prl_fs")

Identity = tuple[int, int, int, int]  # device and inode number; for a file also its size and time of change


class Watched:
    """The folders and files of an index, which are watched from the moment an object is made."""

    def __init__(
        self,
        sources: Sequence[Path],
        globs: Globs = NO_GLOBS,
        source_globs: Mapping[Path, Globs] = NO_SOURCE_GLOBS,
    ) -> None:
        self.sources = tuple(sources)
        self.globs = globs
        self.source_globs = source_globs  # of sources that have globs of their own
        self.problem: str | None = None  # a line for the user if events will be missing
        self.changed: frozenset[Path] | None = None  # what `wait` has found to have changed; None if all may have
        self._whole_at = time.monotonic()  # when all may have changed: at the start, or by the last such report
        self._is_cleared = False  # whether an index was removed, as the last events say
        self._has_lost = False  # whether events since the last report were lost, or may concern all files
        self._devices: dict[Path, int] = {}  # on which each source was first seen
        self._begin()

    @property
    def missing(self) -> tuple[Path, ...]:
        """The sources that do not exist now: they were removed, or their file system was unmounted."""
        return tuple(source for source in self.sources if self._identities[source] is None)

    @property
    def has_lost_source(self) -> bool:
        """Whether a source that is not in `missing` does not exist at this moment. The next `wait` reports it."""
        return any(self._identity(source) is None for source in set(self.sources).difference(self.missing))

    def wait(self, stop: Event, most_seconds: float = math.inf) -> bool:
        """Wait until an update would find something new; False if `stop` was set instead. Ctrl-C ends it.

        After `most_seconds`, all files may have changed.
        """
        self.changed = None
        started = time.monotonic()
        while not stop.is_set():
            changed = self._events(MOST_QUIET_MS, QUIET_MS, min(self._timeout(), most_seconds), stop)
            identities = {source: self._identity(source) for source in self.sources}
            if identities != self._identities:
                self._begin()
                return self._report_all()
            if self._is_cleared:
                return self._report_all()
            if self.problem is None and any(map(Path.is_dir, changed)):
                self.problem = limit_problem(self._folders[0])
            is_silent = self.problem is not None
            late_at = min(
                started + SILENT_SECONDS if is_silent else self._whole_at + WHOLE_SECONDS, started + most_seconds
            )
            is_late = time.monotonic() > late_at
            if any(self._concerns(source, changed) for source in self._folders):
                changed = self._gathered(changed, stop)
                if is_late or is_silent or self._has_lost or self._overlap() or _may_concern_all(changed):
                    return self._report_all()
                self.changed = frozenset(changed)
                return True
            self._has_lost = self._has_lost or _may_concern_all(changed)
            if is_late:
                return self._report_all()
        return False

    def _report_all(self) -> bool:
        """Report that all files may have changed."""
        self._has_lost, self._whole_at = False, time.monotonic()
        return True

    def _begin(self) -> None:
        """Watch the sources that exist now. All changes after this call are reported."""
        self._identities = {source: self._identity(source) for source in self.sources}
        present = [source for source in self.sources if self._identities[source] is not None]
        self._folders = [source for source in present if source.is_dir()]
        self._has_files = len(self._folders) < len(present)
        silent = [source for source in self._folders if _is_silent(source)]
        self._notify, self.problem = notifications(self._folders)
        if silent:
            self.problem = f"The file system of {silent[0]} does not report changes, {ALL_CHECKED}."

    def _timeout(self) -> float:
        """Seconds until the sources have to be checked even if there is no event."""
        if self._has_files:
            return FILE_SECONDS
        return MISSING_SECONDS if self.missing else CHECK_SECONDS

    def _events(self, most_ms: int, quiet_ms: int, seconds: float, stop: Event) -> set[Path]:
        """The files that have changed; none after `seconds` without a change, or if `stop` was set."""
        if self._notify is None:
            stop.wait(seconds)
            return set()
        try:
            found = self._notify.watch(most_ms, quiet_ms, int(1000 * seconds), stop)
        except RuntimeError:  # a name that is not UTF-8; the object raises it again at every call
            self._begin()
            self._has_lost = True
            return set(self._folders)
        if found == "signal":
            raise KeyboardInterrupt
        changes = [] if isinstance(found, str) else [(change, Path(path)) for change, path in found]
        # No update removes the marker of an index.
        self._is_cleared = any(
            change == DELETED and path.parts[-2:] == (INDEX_FOLDER, MARKER) for change, path in changes
        )
        return {path for _, path in changes if INDEX_FOLDER not in path.parts}  # updates write there, with hard links

    def _concerns(self, folder: Path, changed: Iterable[Path]) -> bool:
        return concerns_walk(folder, changed, self.source_globs.get(folder, self.globs))

    def _gathered(self, changed: set[Path], stop: Event) -> set[Path]:
        """Wait until a large operation has ended; returns all that it has changed."""
        deadline = time.monotonic() + MOST_SECONDS_OF_MANY
        while len(changed) > MANY and time.monotonic() < deadline:
            more = self._events(2 * MOST_QUIET_MS, QUIET_MS_OF_MANY, QUIET_MS_OF_MANY / 1000, stop)
            if not more:
                break
            changed |= more
        return changed

    def _overlap(self) -> bool:
        """Whether a source is inside another one, through a link: the system names a file by one of both."""
        real = sorted(folder_prefix(os.path.realpath(source)) for source in self.sources)
        return any(below.startswith(above) for above, below in pairwise(real))

    def _identity(self, source: Path) -> Identity | None:
        """What distinguishes a source from another one at the same path; None if it does not exist.

        An empty folder on another device than before is the mount point of a file system that was unmounted.
        """
        try:
            found = source.stat()
            device = self._devices.setdefault(source, found.st_dev)
            if source.is_dir():
                is_unmounted = found.st_dev != device and not os.listdir(source)  # noqa: PTH208 (names)
                return None if is_unmounted else (found.st_dev, found.st_ino, 0, 0)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _may_concern_all(changed: set[Path]) -> bool:
    """Whether more may have changed than these files and folders."""
    if len(changed) > SURE or any(decides_about_others(path.name) for path in changed):
        return True
    return any(_has_other_names(path) for path in changed)


def _has_other_names(path: Path) -> bool:
    """Whether a file has other names as well, by hard links; only one of them is reported."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _is_silent(folder: Path) -> bool:
    """Whether changes of files in this folder cause no events; known on Linux only."""
    if sys.platform != "linux":
        return False
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    mounts = {Path(place.replace("\\040", " ")): kind for _, place, kind, *_ in map(str.split, lines)}
    real = Path(os.path.realpath(folder))
    kind = next((mounts[parent] for parent in (real, *real.parents) if parent in mounts), "")
    return kind.startswith(SILENT_FILE_SYSTEMS)

"""Wait until files of an index have changed, by the events of the file system."""

import errno
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from cdesearch.store.index import Index
from cdesearch.store.manifest import Globs
from indexer.files.walk import INDEX_FOLDER, NO_GLOBS, concerns_walk

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

NO_SOURCE_GLOBS: Mapping[Path, Globs] = {}

EVENT_MS = 10  # in which the event of a change that has just been made arrives
QUIET_MS = 150  # without another event, before changes are reported
MOST_QUIET_MS = 1_000  # the longest delay of a report by a file that is written all the time

CHECK_SECONDS = 10.0  # between two checks that each source is still the same folder: an unmount is not an event
MISSING_SECONDS = 3.0  # between two checks whether a missing source exists again
FILE_SECONDS = 0.5  # between two checks of sources that are files: editors replace them, which ends a watch
# Between two reports without an event: a rule elsewhere may change, or events may be lost. If the queue of the system
# overflows, `watchfiles` drops the event that says so.
WHOLE_SECONDS = 600.0

# Other computers may change files on these file systems, and the local kernel reports no event.
SILENT_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "vboxsf", "fuse.", "prl_fs")

SILENT_SECONDS = 30.0  # between two checks of all files, if the system does not report every change
ALL_CHECKED = f"so all files are checked every {SILENT_SECONDS:g} seconds"
ATTEMPTS = 3  # to watch all folders although some are removed meanwhile
NO_WATCH, NO_INSTANCE = "OS file watch limit reached", f"(os error {errno.EMFILE})"  # in errors of `RustNotify`
NO_WATCHES = (
    f"There are more folders than the system can watch, {ALL_CHECKED}. Run"
    " `sudo sysctl fs.inotify.max_user_watches=1048576`, and then start this command again."
)
NO_INSTANCES = (
    f"Too many programs watch folders, {ALL_CHECKED}. Run"
    " `sudo sysctl fs.inotify.max_user_instances=1024`, and then start this command again."
)

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
        self._whole_at = time.monotonic()  # when all files may last have changed
        self._devices: dict[Path, int] = {}  # on which each source was first seen
        self._begin()

    @property
    def missing(self) -> tuple[Path, ...]:
        """The sources that do not exist now: they were removed, or their file system was unmounted."""
        return tuple(source for source in self.sources if self._identities[source] is None)

    def wait(self, stop: Event, most_seconds: float = math.inf) -> bool:
        """Wait until an update may find something new, at most `most_seconds`; False if `stop` was set instead."""
        started = time.monotonic()
        while not stop.is_set():
            # The sources have to be checked after that time even if there is no event.
            seconds = FILE_SECONDS if self._has_files else MISSING_SECONDS if self.missing else CHECK_SECONDS
            changed = self._events(min(seconds, most_seconds), stop)
            has_others = {source: self._identity(source) for source in self.sources} != self._identities
            if has_others:
                self._begin()
            is_silent = self.problem is not None
            late_at = min(
                started + SILENT_SECONDS if is_silent else self._whole_at + WHOLE_SECONDS, started + most_seconds
            )
            if has_others or time.monotonic() > late_at:  # all files may have changed
                self._whole_at = time.monotonic()
                return True
            if any(concerns_walk(one, changed, self.source_globs.get(one, self.globs)) for one in self._folders):
                return True
        return False

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

    def _events(self, seconds: float, stop: Event) -> set[Path]:
        """The files that have changed; none after `seconds` without a change, or if `stop` was set."""
        if self._notify is None:
            stop.wait(seconds)
            return set()
        try:
            found = self._notify.watch(MOST_QUIET_MS, QUIET_MS, int(1000 * seconds), stop)
        except RuntimeError:  # a name that is not UTF-8; the object raises it again at every call
            self._begin()
            return set(self._folders)
        if found == "signal":
            raise KeyboardInterrupt
        paths = () if isinstance(found, str) else (Path(path) for _, path in found)
        return {path for path in paths if INDEX_FOLDER not in path.parts}  # updates write there, with hard links

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


def quiet(index: Index) -> Callable[[], bool] | None:
    """A function that returns whether no file of an index has changed since this call, until it returns False.

    None if the index has other sources than folders, or if the system does not report all changes.
    """
    if any(not source.is_dir() or _is_silent(source) for source in index.sources):
        return None
    notify, problem = notifications(index.sources)
    if notify is None or problem is not None:
        return None
    identities = [_inode(source) for source in index.sources]

    def is_quiet() -> bool:
        try:
            found = notify.watch(1, 1, EVENT_MS, Event())
        except RuntimeError:  # a name that is not UTF-8
            return False
        changed = [] if isinstance(found, str) else found
        is_same = [_inode(source) for source in index.sources] == identities  # an unmount is not an event
        return is_same and all(INDEX_FOLDER in Path(path).parts for _, path in changed)

    return is_quiet


def _inode(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


def notifications(folders: Sequence[Path]) -> "tuple[RustNotify | None, str | None]":
    """An object that collects the events in `folders`, and a line for the user if it will miss some.

    The object is None if there are no folders, or if no event can be received at all.
    """
    if not folders:
        return None, None
    problem = None
    for _ in range(ATTEMPTS):
        try:
            return _notify(folders, is_strict=True), None
        except FileNotFoundError as error:  # a folder was removed while the folders were listed
            problem = _problem(error)
        except (OSError, RuntimeError) as error:
            problem = _problem(error)
            break
    try:
        return _notify(folders, is_strict=False), problem  # of the folders that can be watched
    except (OSError, RuntimeError):
        return None, problem


def _notify(folders: Sequence[Path], *, is_strict: bool) -> "RustNotify":
    """Begin to collect events. Unless it `is_strict`, folders that cannot be watched are left out without an error."""
    from watchfiles._rust_notify import RustNotify

    return RustNotify(list(map(os.fspath, folders)), False, False, 0, True, not is_strict)


def _problem(error: Exception) -> str:
    """A line for the user about an error of `RustNotify`, whose class does not tell them apart."""
    text = str(error)
    if NO_WATCH in text:
        return NO_WATCHES
    if NO_INSTANCE in text:
        return NO_INSTANCES
    cause = "a folder cannot be read" if isinstance(error, PermissionError) else text
    return f"Not all folders can be watched ({cause}), {ALL_CHECKED}."

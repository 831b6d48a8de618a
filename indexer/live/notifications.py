"""The events of the file system for several folders, and what to tell users if events will be missing."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

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


def limit_problem(folder: Path) -> str | None:
    """A line for the user if the system cannot watch a further folder, which would not be reported otherwise."""
    try:
        _notify([folder], is_strict=True, is_recursive=False).close()
    except (OSError, RuntimeError) as error:
        line = _problem(error)
        return line if line in (NO_WATCHES, NO_INSTANCES) else None
    return None


def _notify(folders: Sequence[Path], *, is_strict: bool, is_recursive: bool = True) -> "RustNotify":
    """Begin to collect events. Unless it `is_strict`, folders that cannot be watched are left out without an error."""
    from watchfiles._rust_notify import RustNotify

    return RustNotify(list(map(os.fspath, folders)), False, False, 0, is_recursive, not is_strict)


def _problem(error: Exception) -> str:
    """A line for the user about an error of `RustNotify`, whose class does not tell them apart."""
    text = str(error)
    if NO_WATCH in text:
        return NO_WATCHES
    if NO_INSTANCE in text:
        return NO_INSTANCES
    cause = "a folder cannot be read" if isinstance(error, PermissionError) else text
    return f"Not all folders can be watched ({cause}), {ALL_CHECKED}."

"""What differs between systems: replacing files, links, locks, owners, flushing to disk, refusals, forms of paths."""

import errno
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

REPLACING_SECONDS = 2.0  # in which a program on Windows that reads a file, such as a virus scanner, closes it again
_RETRY_SECONDS = 0.02
# Errors about what is at a path, for example nothing, and those of writing alone.
_NO_REFUSALS = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG,
    errno.EINVAL, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG,
)  # fmt: skip
_NUMBER = re.compile(r"(?:\(os error|\[errno|Os \{ code:) (\d+)", re.IGNORECASE)
_REMEDIES = {
    errno.EACCES: "Correct its permissions, or ask its owner for access.",
    errno.EPERM: "Correct its permissions, or ask its owner for access.",
    errno.EMFILE: "Let a process open more files (`ulimit -n 1024`), and run the same command again.",
    errno.ENFILE: "End other programs, and run the same command again.",
    errno.EAGAIN: "End other programs, and run the same command again.",
    errno.ENOMEM: "Free some memory, and run the same command again.",
}


def refusal_of(error: BaseException) -> int | None:
    """The number of the system's error, such as EIO or EMFILE, if it refuses to read what is there; else None.

    Libraries in Rust and C++ name the number in texts of their own.
    """
    number = getattr(error, "errno", None)
    if number is None and os.name != "nt" and (found := _NUMBER.search(str(error))):  # Windows numbers otherwise
        number = int(found[1])
    return None if number in _NO_REFUSALS else number


def refusal(number: int) -> tuple[str, str]:
    """A refusal in words, and its remedy, which removes nothing."""
    return os.strerror(number).lower(), _REMEDIES.get(number, "Check its disk, and run the same command again.")


def put_in_place(fresh: Path, file: Path) -> None:
    """Rename `fresh` to `file` atomically, which may exist; raises OSError.

    Windows refuses this while another program has `file` open. It is then tried again for REPLACING_SECONDS.
    """
    deadline = time.monotonic() + REPLACING_SECONDS
    while True:
        try:
            fresh.replace(file)
            return
        except PermissionError:
            if os.name != "nt" or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Make a hard link to a file, or a copy if the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        import shutil

        shutil.copy2(source, target)


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders, and needs no flush of them
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_of(file: Path, *, wait: bool) -> "BaseFileLock":
    """The lock on `file`, a context manager; without `wait` it raises `filelock.Timeout` if another process has it.

    It raises OSError if the file system has no locks.
    """
    from filelock import FileLock  # imported late: most commands write nothing

    # Otherwise, the mere file of a lock would count as locked.
    return FileLock(file, timeout=-1 if wait else 0, mode=0o600, fallback_to_soft=False)


def open_like(path: Path, folder_mode: int) -> None:
    """Let the users read or enter a file or folder who may enter a folder of this mode.

    File systems without such modes stay as they are.
    """
    found = path.lstat().st_mode
    wanted = folder_mode & (0o7777 if stat.S_ISDIR(found) else 0o666)
    if os.name != "nt" and stat.S_IMODE(found) != wanted:
        with suppress(OSError):
            path.chmod(wanted)


def is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, or to the user who has called sudo."""
    if os.name == "nt":
        return True
    sudo = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""  # anybody else may have set it
    return found.st_uid == os.geteuid() or (sudo.isdecimal() and found.st_uid == int(sudo))


def foreign_owner(path: Path, *, as_caller: bool = True) -> int | None:
    """The number of the user to whom an existing file or folder belongs, if it is another one; links are not followed.

    Under sudo, what belongs to the user who has called it counts as one's own if `as_caller`. Raises OSError if the
    path cannot be reached.
    """
    found = path.lstat()
    is_foreign = not is_own(found) if as_caller or os.name == "nt" else found.st_uid != os.geteuid()
    return found.st_uid if is_foreign else None


def user_name(number: int) -> str:
    """The name of a user of this computer, or the number of one without a name."""
    try:
        from pwd import getpwuid  # not on Windows

        return getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"user {number}"


def is_link(found: os.stat_result) -> bool:
    """Whether what `lstat` found is a symbolic link, or a junction of Windows. `Path.is_junction` needs Python 3.12."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(found.st_mode) or (junction is not None and getattr(found, "st_reparse_tag", 0) == junction)


def is_mount(folder: Path) -> bool:
    """Whether a file system is mounted at this folder, or at the folder that a link leads to."""
    return os.path.ismount(os.path.realpath(folder))


def is_available(path: Path, *, was_mount: bool) -> bool:
    """Whether a file or folder exists and can be reached. It cannot if its file system is disconnected.

    If a file system was mounted at the folder, an empty folder is the mount point of one that is not mounted now.
    """
    try:
        path.stat()
        return not was_mount or is_mount(path) or not path.is_dir() or next(path.iterdir(), None) is not None
    except OSError:
        return False


def relative_posix(file: str, root: str, paths: ModuleType = os.path) -> str:
    """`file` relative to `root`, with "/" between parts. `paths` is the module for paths of the operating system."""
    return with_slashes(str(paths.relpath(file, root)), paths)


def with_slashes(path: str, paths: ModuleType = os.path) -> str:
    """`path` with "/" between its parts. Only on Windows is a backslash another separator; elsewhere it is a letter."""
    return path if paths.sep == "/" else path.replace(paths.sep, "/")


def folder_prefix(folder: str, paths: ModuleType = os.path) -> str:
    """`folder` with a separator at its end, as the paths of everything in it begin; "/" and a drive have one already.

    Among prefixes in ascending order, those of the folders in a folder follow directly after its own.
    """
    return folder if folder.endswith(paths.sep) else folder + paths.sep

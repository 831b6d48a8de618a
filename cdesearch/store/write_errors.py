"""Why an index cannot be written: what the system's errors mean, and what the user can do."""

import errno
import os
from pathlib import Path

from cdesearch.errors import StorageError
from cdesearch.store.filesystem import refusal, refusal_of
from cdesearch.store.layout import MARKER

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_ELSEWHERE = "name a place on another disk with --index DIR"


def write_error(folder: Path, error: OSError) -> StorageError:
    """The error to raise for an error of the system while a file in `folder` was written."""
    reason, remedy = refusal(error.errno or errno.EIO)
    return known_write_error(folder, error) or StorageError(f"{folder} cannot be written ({reason}).", remedy)


def known_write_error(folder: Path, error: BaseException) -> StorageError | None:
    """The error to raise if `error` shows that the system refuses to write or lock; None for another one.

    LanceDB and Arrow wrap the system's error in their own, so its text is read as well.
    """
    code = getattr(error, "errno", None)
    text = str(error).lower()
    if code in (errno.ENOSPC, errno.EDQUOT) or "no space left" in text or "quota exceeded" in text:
        return StorageError(f"The disk of {folder} is full.", "Free some space and run the same command again.")
    if code == errno.EFBIG or "file too large" in text:
        return StorageError(
            f"A file in {folder} would be larger than the disk or your limits allow.",
            f"Raise the limit (`ulimit -f`), or {_ELSEWHERE}.",
        )
    is_read_only = code == errno.EROFS or "read-only file system" in text
    if is_read_only or code in (errno.EACCES, errno.EPERM):
        file = Path(getattr(error, "filename", None) or folder)
        if file.is_relative_to(folder) or folder.is_relative_to(file):  # not if a document cannot be read
            return StorageError(f"{folder} cannot be written.", _remedy(folder, is_read_only=is_read_only))
        return None
    return _refused(folder, error)


def _refused(folder: Path, error: BaseException) -> StorageError | None:
    """The error for another refusal, such as EBUSY, unless it may be about other files than those in `folder`."""
    number = refusal_of(error)
    if number is None:
        return None
    reason, remedy = refusal(number)
    names = [name for name in (getattr(error, "filename", None), getattr(error, "filename2", None)) if name]
    if number in _NO_LOCKS and not names:
        remedy = f"Mount its file system with locks, or {_ELSEWHERE}."
        return StorageError(f"{folder} cannot be locked ({reason}).", remedy)
    if number in (errno.EMFILE, errno.ENFILE) or any(Path(name).is_relative_to(folder) for name in names):
        return StorageError(f"{folder} cannot be written ({reason}).", remedy)
    return None


def _remedy(folder: Path, *, is_read_only: bool) -> str:
    """What to do about a folder that cannot be written. No other folder can replace an index that exists already."""
    if not os.path.lexists(folder / MARKER):
        return "Name another folder: --index DIR, or for a cache the variable XDG_CACHE_HOME."
    if is_read_only:
        return "Mount its file system with permission to write."
    return "Correct its permissions, or ask its owner for access."

"""Why an index cannot be written: what the system's errors mean, and what the user can do."""

import errno
import os
import sys
from pathlib import Path

from cdesearch.errors import StorageError
from cdesearch.store.bucket_address import written_place
from cdesearch.store.folder import MARKER

_OTHER_CACHE = f"set {'LOCALAPPDATA' if sys.platform == 'win32' else 'XDG_CACHE_HOME'} to a folder on another disk"


def write_error(folder: Path, error: OSError) -> StorageError:
    """The error to raise for an error of the system while a file in the index `folder` was written.

    For an index in a bucket, it names the cache.
    """
    return known_write_error(folder, error) or StorageError(
        f"{written_place(folder)} cannot be written ({error.strerror}).",
        "Check its disk, and run the same command again.",
    )


def known_write_error(folder: Path, error: BaseException) -> StorageError | None:
    """The error to raise if `error` is about a full or read-only disk, or about permissions; None for another one.

    LanceDB and Arrow wrap the system's error in their own, so its text is read as well.
    """
    place = written_place(folder)
    elsewhere = "name a place on another disk with --index DIR" if place == folder else _OTHER_CACHE
    code = getattr(error, "errno", None)
    text = str(error).lower()
    if code in (errno.ENOSPC, errno.EDQUOT) or "no space left" in text or "quota exceeded" in text:
        return StorageError(f"The disk of {place} is full.", "Free some space and run the same command again.")
    if code == errno.EFBIG or "file too large" in text:
        return StorageError(
            f"A file in {place} would be larger than the disk or your limits allow.",
            f"Raise the limit (`ulimit -f`), or {elsewhere}.",
        )
    is_read_only = code == errno.EROFS or "read-only file system" in text
    if is_read_only or code in (errno.EACCES, errno.EPERM):
        file = Path(getattr(error, "filename", None) or place)
        if file.is_relative_to(place) or place.is_relative_to(file):  # not if a document cannot be read
            if place != folder:
                return StorageError(f"{place} cannot be written.", f"Correct its permissions, or {_OTHER_CACHE}.")
            return StorageError(f"{folder} cannot be written.", _remedy(folder, is_read_only=is_read_only))
    return None


def _remedy(folder: Path, *, is_read_only: bool) -> str:
    """What to do about a folder that cannot be written. No other folder can replace an index that exists already."""
    if not os.path.lexists(folder / MARKER):
        return "Name another folder with --index DIR."
    if is_read_only:
        return "Mount its file system with permission to write."
    return "Correct its permissions, or ask its owner for access."

"""Replace a file or a folder so that a crash leaves either the old contents or the new.

The new contents are written beside the old ones, under a name that ends with UNFINISHED. Whatever has such a name is
taken for the remnant of a command that was stopped, and is overwritten.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cdesearch.errors import StorageError

UNFINISHED = ".cdesearch-unfinished"
REPLACED = ".cdesearch-replaced"  # the end of the name of an old folder until it is deleted


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Within this context manager, an OSError becomes a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)  # libraries wrap the system's error, so its text is read as well
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "no space left" in reason.lower()
        remedy = "Free some space" if is_full else "Check the path and its permissions"
        raise StorageError(
            f"{path} cannot be written ({reason}).", f"{remedy}, and run the same command again."
        ) from error


def make_folder(folder: Path) -> None:
    """Create `folder` unless it exists; raises StorageError if it cannot be made."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """A stream, whose contents replace `file` at the end of the block. If the block fails, `file` is as before."""
    unfinished = file.with_name(file.name + UNFINISHED)
    try:
        unfinished.unlink(missing_ok=True)
        with unfinished.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def replace_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a new folder, then replace `folder` by it as a whole; raises StorageError.

    Everything in the old folder is deleted. If `folder` is a link to a folder, that folder is replaced.
    """
    target = folder.resolve()
    unfinished, replaced = (target.with_name(target.name + one) for one in (UNFINISHED, REPLACED))
    with writing(folder):
        remove(unfinished)
        try:
            write(unfinished)
        except BaseException:
            remove(unfinished)
            raise
        remove(replaced)
        if target.exists():
            target.replace(replaced)
        unfinished.replace(target)
        remove(replaced)


def remove(path: Path) -> None:
    """Delete a file, a link or a whole folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

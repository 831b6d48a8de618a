"""Replace a file or a folder so that a crash leaves either the old contents or the new. No link is followed.

The new contents are written beside the old ones, under a name that ends with UNFINISHED. Whatever has such a name is
taken for the remnant of a command that was stopped, and is overwritten.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cdesearch.errors import InputError, StorageError

UNFINISHED = ".cdesearch-unfinished"
REPLACED = ".cdesearch-replaced"  # the end of the name of an old folder until it is deleted


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Within this context manager, an OSError becomes a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({_reason(error)}).", "Free some space and run the same command again."
        ) from error


def _reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # of a copied folder: a list of files, each with its reason
        return str(error.args[0][0][2])
    return error.strerror or str(error)


def make_folder(folder: Path) -> None:
    """Create `folder` unless it exists; raises InputError if it is a link, and StorageError if it cannot be made."""
    refuse_link(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def refuse_link(path: Path) -> None:
    """Raise InputError if `path` itself is a symbolic link."""
    if path.is_symlink():
        raise InputError(f"{path} is a symbolic link, which this program does not follow.", "Remove it.")


def open_new(file: Path) -> BinaryIO:
    """A new file to write bytes to. An old file of this name, or a link, is removed."""
    file.unlink(missing_ok=True)
    return file.open("xb")


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """A stream, whose contents replace `file` at the end of the block. If the block fails, `file` is as before."""
    unfinished = file.with_name(file.name + UNFINISHED)
    try:
        with open_new(unfinished) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def replace_text(file: Path, text: str) -> None:
    """Replace the contents of `file` by `text`; raises StorageError."""
    with writing(file), replacing(file) as stream:
        stream.write(text.encode("utf-8"))


def replace_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a new folder, then replace `folder` by it as a whole; raises StorageError.

    Everything in the old folder is deleted. If `folder` is a link to a folder, that folder is replaced.
    """
    target = folder.resolve()
    unfinished, replaced = (target.with_name(target.name + suffix) for suffix in (UNFINISHED, REPLACED))
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

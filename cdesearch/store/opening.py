"""Opening files safely: only regular files are read, and no more bytes than a file had when it was opened.

A file in a folder that was walked is opened without following links, because a link may have replaced it since.
"""

import hashlib
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path

from cdesearch.store.filesystem import is_link

NOT_REGULAR = "not a regular file"
BEHIND_LINK = "a link, or a file behind one"

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RegularFile(io.RawIOBase):
    """The bytes that a regular file had when it was opened, so that a file that keeps growing has an end.

    Raises OSError if it cannot be opened or is a pipe, a socket or a device; opening one of these does not block.
    With `top`, a folder above the file, OSError is also raised if a component below `top` is a symbolic link.
    `progress` is called at every read.
    """

    def __init__(self, file: Path, top: Path | None = None, progress: Callable[[], None] = lambda: None) -> None:
        descriptor = os.open(file, _FLAGS) if top is None else _open_below(file, top)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(0, NOT_REGULAR)
            self._file = io.FileIO(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self.size = found.st_size
        self._progress = progress

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._progress()
        left = max(0, self.size - self._file.tell())
        return self._file.readinto(memoryview(buffer)[:left]) or 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position; the end is where the file ended when it was opened."""
        if whence == io.SEEK_END:
            offset, whence = self.size + offset, io.SEEK_SET
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed and hasattr(self, "_file"):  # Python also closes a file that could not be opened
            self._file.close()
        super().close()


def open_regular(file: Path, top: Path | None = None, progress: Callable[[], None] = lambda: None) -> io.BufferedReader:
    """Open a regular file for buffered reading, as RegularFile describes."""
    return io.BufferedReader(RegularFile(file, top, progress), 1 << 18)


def hash_contents(stream: io.BufferedIOBase) -> str:
    """The hash of the contents of a file, as 32 hexadecimal digits; leaves the stream at its start."""
    stream.seek(0)
    digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    stream.seek(0)
    return digest


def _open_below(file: Path, top: Path) -> int:
    """A descriptor of `file`. No link below `top` is followed, even if one is created at this moment."""
    if os.open not in os.supports_dir_fd:
        return _open_then_check(file, top)
    *folders, name = file.relative_to(top).parts
    parent = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            child = _open_in(parent, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.close(parent)
            parent = child
        return _open_in(parent, name, _FLAGS)
    finally:
        os.close(parent)


def _open_in(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        # The error for a link that may not be followed varies by system: ELOOP, EMLINK, or ENOTDIR for a folder.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(0, BEHIND_LINK) from error
        raise


def _open_then_check(file: Path, top: Path) -> int:
    """Open as `_open_below` does, but look for links afterwards: Windows cannot open relative to a folder."""
    descriptor = os.open(file, _FLAGS)
    parts = file.relative_to(top).parts
    try:
        if any(is_link(top.joinpath(*parts[:depth]).lstat()) for depth in range(1, len(parts) + 1)):
            raise OSError(0, BEHIND_LINK)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor

"""Files opened so that nothing but a regular file is ever read, and no more of it than there was.

Where a folder was walked, a file in it is opened without following a link, for one may have taken its place since.
"""

import hashlib
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path

NOT_REGULAR = "not a regular file"
BEHIND_LINK = "a link, or a file behind one"

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RegularFile(io.RawIOBase):
    """The bytes that a regular file had when it was opened: a file that grows for ever ends all the same.

    Raises OSError where it cannot be opened or is a pipe, a socket or a device; opening one of these does not block.
    With `top`, a folder that holds the file, OSError is also raised where a component below `top` is a symbolic link.
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
        """Fill `buffer` as far as there is something left."""
        self._progress()
        left = max(0, self.size - self._file.tell())
        return self._file.readinto(memoryview(buffer)[:left]) or 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; the end is where the file ended when it was opened."""
        if whence == io.SEEK_END:
            offset, whence = self.size + offset, io.SEEK_SET
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._file.tell()

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Close the file as well."""
        if not self.closed:
            self._file.close()
        super().close()


def open_regular(file: Path, top: Path | None = None, progress: Callable[[], None] = lambda: None) -> io.BufferedReader:
    """`file` for reading, buffered; see RegularFile."""
    return io.BufferedReader(RegularFile(file, top, progress), 1 << 18)


def hash_contents(stream: io.BufferedIOBase) -> str:
    """The hash of the contents of a file, as 32 hexadecimal digits; leaves the stream at its start."""
    stream.seek(0)
    digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    stream.seek(0)
    return digest


def _open_below(file: Path, top: Path) -> int:
    """A descriptor of `file`, with no link followed below `top`, even where one is put there at this moment."""
    if os.open not in os.supports_dir_fd:
        return _open_then_check(file, top)
    *folders, name = file.relative_to(top).parts
    place = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _open_in(place, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.close(place)
            place = below
        return _open_in(place, name, _FLAGS)
    finally:
        os.close(place)


def _open_in(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        # What a system says of a link that it may not follow varies: ELOOP, EMLINK, or ENOTDIR for a folder.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(0, BEHIND_LINK) from error
        raise


def _open_then_check(file: Path, top: Path) -> int:
    """As `_open_below`, for Windows, which cannot open relative to a folder: links are looked for after opening."""
    descriptor = os.open(file, _FLAGS)
    parts = file.relative_to(top).parts
    try:
        if any(_is_link(top.joinpath(*parts[:depth]).lstat()) for depth in range(1, len(parts) + 1)):
            raise OSError(0, BEHIND_LINK)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _is_link(found: os.stat_result) -> bool:
    """A symbolic link, or a junction of Windows."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(found.st_mode) or (junction is not None and getattr(found, "st_reparse_tag", 0) == junction)

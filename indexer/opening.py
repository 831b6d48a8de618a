"""Files opened so that nothing but a regular file is ever read, and no more of it than there was."""

import io
import os
import stat
from collections.abc import Callable
from pathlib import Path

NOT_REGULAR = "not a regular file"

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RegularFile(io.RawIOBase):
    """The bytes that a regular file had when it was opened: a file that grows for ever ends all the same.

    Raises OSError where it cannot be opened or is a pipe, a socket or a device; opening one of these does not block.
    `progress` is called at every read.
    """

    def __init__(self, file: Path, progress: Callable[[], None] = lambda: None) -> None:
        descriptor = os.open(file, _FLAGS)
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


def open_regular(file: Path, progress: Callable[[], None] = lambda: None) -> io.BufferedReader:
    """`file` for reading, buffered; see RegularFile."""
    return io.BufferedReader(RegularFile(file, progress), 1 << 18)

"""Open only plain files: reading a named pipe or a device might never end."""

import os
import stat
from io import BufferedReader
from pathlib import Path

from cdesearch.errors import SourceError


def open_plain(file: Path) -> BufferedReader:
    """The file, opened to read bytes; raises SourceError if it is not a plain file, and OSError as `open` does."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if file.is_dir():
        raise SourceError(f"{file} is a folder, not a file.", "Name a file.")
    stream = os.fdopen(os.open(file, flags), "rb")
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise SourceError(f"{file} is not a plain file.", "Name a file, not a pipe or a device.")

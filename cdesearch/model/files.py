"""Files of a checkpoint, which anybody may have made: looked at before a library opens them.

A link is followed, for the cache of huggingface_hub is made of links. What it leads to must be a plain file.
"""

import os
import stat
from pathlib import Path

from cdesearch.errors import ModelError

MOST_BYTES_OF_FIELDS = 16_000_000  # of a JSON file of settings; published ones have a few thousand
AGAIN = "Copy the checkpoint again."


def check_plain(file: Path, most: int | None = None) -> None:
    """Raise ModelError where `file` is there and is no plain file (a pipe never ends), or has more than `most` bytes.

    A file that is missing is the reader's to report.
    """
    try:
        found = file.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{file} is not a plain file.", AGAIN)
    if most is not None and found.st_size > most:
        raise ModelError(f"{file} is larger than {most:,} bytes, which no such file of a checkpoint is.", AGAIN)


def read_fields_text(file: Path) -> str:
    """The text of a JSON file of settings; raises OSError, UnicodeDecodeError or ModelError."""
    check_plain(file, MOST_BYTES_OF_FIELDS)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as stream:
        return stream.read(MOST_BYTES_OF_FIELDS).decode("utf-8")

"""Read bytes as if they were a file with a given name."""

import io

from indexer.formats.format import Columns, LeftOut, OpenFile
from indexer.formats.registry import read


def read_bytes(name, data, columns=Columns(), left_out=None, *, is_wanted=False):  # noqa: B008 (frozen)
    """The documents of a file called `name` that contains `data`, one after another."""
    return read(OpenFile(name, io.BytesIO(data), columns, left_out or LeftOut(), is_wanted=is_wanted))

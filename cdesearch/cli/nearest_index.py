"""Say which index answers where the nearest one upward is not the only one that covers the working directory."""

import shlex
import sys
from pathlib import Path

from cdesearch.store.index import Index
from cdesearch.store.nesting import outer_index
from cdesearch.terminal import printable


def note_outer_index(nearest: Index) -> None:
    """Say on stderr if an index above the `nearest` one covers the working directory as well, and how to choose it."""
    outer = outer_index(Path.cwd(), nearest.folder)
    if outer is not None:
        line = (
            f"{nearest.place} answers here. {outer.place} covers this folder as well:"
            f" --index {shlex.quote(str(outer.place))} chooses it."
        )
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()

"""Cursors mark where the next part of an answer starts. A cursor is valid for one call and one state of the index."""

import re
from hashlib import blake2b

from cdesearch.errors import InputError
from cdesearch.serve.indexes import ServedIndex, ServedTogether

_FORM = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?-([0-9a-f]{8})")


def make_cursor(served: ServedIndex | ServedTogether, call: tuple[object, ...], start: int, offset: int = 0) -> str:
    """Return a cursor that continues `call` at the character `offset` of the item `start`. Both count from 0."""
    position = f"{start}.{offset}" if offset else f"{start}"
    return f"{position}-{_checksum(served, call)}"


def start_of(served: ServedIndex | ServedTogether, call: tuple[object, ...], cursor: str | None) -> tuple[int, int]:
    """Return the item, and the character in it, at which `cursor` continues `call`. Without a cursor, both are 0.

    Raises InputError for a cursor of another call, or of an older state of the index.
    """
    if cursor is None:
        return 0, 0
    match = _FORM.fullmatch(cursor)
    if match is None:
        raise InputError(f"{cursor!r:.60} is not a cursor.", "Copy the cursor from the answer to be continued.")
    if match[3] != _checksum(served, call):
        raise InputError(
            "The cursor belongs to a call with other arguments, or the index has been updated since.",
            "Repeat the call without a cursor.",
        )
    return int(match[1]), int(match[2] or 0)


def _checksum(served: ServedIndex | ServedTogether, call: tuple[object, ...]) -> str:
    state = (served.name, served.state, *call)
    return blake2b(repr(state).encode(), digest_size=4).hexdigest()

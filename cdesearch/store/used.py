"""The user's list of indexes, which are searched together where no index is nearer; one file of the configuration."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from cdesearch.errors import IndexNotFoundError, IndexStateError, InputError
from cdesearch.store.filesystem import lock_of, refusal, refusal_of
from cdesearch.store.finding import find_index
from cdesearch.store.folder import replace_file
from cdesearch.store.index import Index, open_each
from cdesearch.store.place import Place, parse_place
from cdesearch.store.trust import real, trust_file

FILE = "indexes.json"


def used_places() -> list[Place]:
    """The indexes of the list, in the order in which they were added; raises InputError if it cannot be read."""
    try:
        return [parse_place(text) for text in msgspec.json.decode(list_file().read_bytes(), type=list[str])]
    except OSError as error:
        number = refusal_of(error)
        if number is None:
            return []
        reason, remedy = refusal(number)
        raise InputError(f"{list_file()} cannot be read ({reason}).", remedy) from None
    except (ValueError, msgspec.MsgspecError) as error:
        raise InputError(f"{list_file()} cannot be read ({error}).", "Remove it, and add your indexes again.") from None


def change_used(change: Callable[[list[Place]], list[Place]]) -> None:
    """Replace the list by what `change` makes of it, one process at a time; raises InputError and OSError."""
    file = real(list_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock_of(file.with_suffix(".lock"), wait=True):
        replace_file(file, json.dumps([str(place) for place in change(used_places())], indent=2) + "\n")


def default_places() -> list[Place | None]:
    """What a command opens that names no index: the nearest one upward, which is None, or else those of the list.

    Raises IndexStateError for a nearest index that may not be used.
    """
    try:
        find_index(Path.cwd())
    except IndexNotFoundError:
        return [*used_places()] or [None]
    return [None]


def open_used() -> dict[str, Index]:
    """Open the indexes of the list, by name; raises IndexStateError with a remedy for the list, and InputError."""
    try:
        return open_each(used_places())
    except IndexStateError as error:
        remedy = f"{error.remedy} To search the others without it, run `cdesearch indexes remove PATH`."
        raise type(error)(error.cause, remedy) from None


def list_file() -> Path:
    """The file of the list, which may not exist; raises OSError if this user has no home folder."""
    return trust_file().with_name(FILE)

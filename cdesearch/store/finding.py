"""Which index folder a path names, and which one is the nearest upward."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from cdesearch.errors import IndexNotFoundError, IndexStateError
from cdesearch.store.folder import finished_generations, mark_of
from cdesearch.store.guard import check_enterable
from cdesearch.store.layout import CURRENT, FOLDER
from cdesearch.store.place import BucketAddress, Place, absolute
from cdesearch.store.trust import check_found

NAMED = 3  # indexes below a folder that a message names


def chosen_place(place: Place) -> Place:
    """The place that `--index PLACE` names, the same for every command.

    A path may be an index, the folder that contains `.cdesearch`, or the folder for a new index, which is empty or does
    not exist yet. Any other folder stands for `.cdesearch` in it. Raises IndexStateError if it cannot be entered.
    """
    if isinstance(place, BucketAddress):
        return place
    path = absolute(place)
    check_enterable(path)
    if path.name == FOLDER or mark_of(path) is not None or not path.is_dir() or _is_empty(path):
        return path
    check_enterable(path / FOLDER)
    return path / FOLDER


def opened_place(place: Place | None) -> Place:
    """The index that a command opens; None finds the nearest index upward, or raises IndexNotFoundError.

    The path of an indexed file names the index beside that file. Raises IndexStateError if it cannot be entered.
    """
    if place is None:
        return find_index(Path.cwd())
    if isinstance(place, BucketAddress):
        return place
    check_enterable(place)
    return place.parent / FOLDER if place.is_file() else chosen_place(place)


def find_index(start: Path, *, check: Callable[[Path], None] = check_found) -> Path:
    """The index folder in `start` or in the nearest folder above it; raises IndexNotFoundError.

    An index whose CURRENT is missing is found too: opening it reports the damage. Raises IndexStateError for an index
    folder that cannot be entered, because an index further up would answer otherwise, and IndexUntrustedError for one
    of another user that this user has not confirmed, unless another `check` replaces this one.
    """
    start = start.resolve()
    for folder in [start, *start.parents]:
        found = folder / FOLDER
        if os.path.lexists(found):  # false in a folder above that cannot be entered, which is no obstacle
            try:
                check_enterable(found)
            except IndexStateError:
                check(found)
                raise
        if os.path.lexists(found / CURRENT) or finished_generations(found):
            check(found)
            return found
    remedy = f"Make one with `cdesearch index {'.' if start == Path.cwd() else shlex.quote(str(start))}`."
    if below := indexes_below(start):
        named = ", ".join(f"--index {shlex.quote(one.name)}" for one in below[:NAMED])
        remedy = f"Name one in it: {named}{', and so on' if below[NAMED:] else ''}."
    raise IndexNotFoundError(f"There is no index in {start} or above it.", remedy)


def indexes_below(folder: Path) -> list[Path]:
    """The folders in `folder` that have an index of their own."""
    try:
        return sorted(one for one in folder.iterdir() if os.path.lexists(one / FOLDER / CURRENT))
    except OSError:
        return []


def _is_empty(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except OSError:  # not readable: opening the folder reports it
        return True

"""Open several indexes by unique names, and find the one further up that covers a folder as well."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import CdesearchError
from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, FOLDER
from cdesearch.store.place import Place
from cdesearch.store.trust import check_found, real


def open_each(places: Iterable[Place | None]) -> dict[str, Index]:
    """Open the index at each place, as `Index.open` finds it, and return the indexes by name.

    An index that is named twice is opened once. Raises IndexStateError if any of them cannot be opened.
    """
    opened: dict[Place, Index] = {}
    for place in places:
        index = Index.open(place)
        opened.setdefault(real(index.place), index)
    named: dict[str, Index] = {}
    for index in opened.values():
        named[free_name(index, named)] = index
    return named


def free_name(index: Index, taken: Collection[str]) -> str:
    """Return the name of the indexed folder, with a number appended if another index already has this name."""
    base = Path(shown_source(index.root)).name or "index"
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def outer_index(folder: Path, nearest: Path) -> Index | None:
    """The first index above the one in the index folder `nearest` whose sources contain `folder`; None if none does.

    An index that cannot be read, or that this user has not confirmed, is passed over. No table is opened.
    """
    for above in nearest.parent.parents:
        if os.path.lexists(above / FOLDER / CURRENT):
            with suppress(CdesearchError, OSError):
                check_found(above / FOLDER)
                index = Index(above / FOLDER)
                if any(folder.is_relative_to(source) for source in index.sources):
                    return index
    return None

"""Open several indexes by unique names."""

from collections.abc import Collection, Iterable
from pathlib import Path

from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index
from cdesearch.store.place import Place
from cdesearch.store.trust import real


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

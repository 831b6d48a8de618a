"""The pattern of `--path`: relative to the indexed folder or to the working directory, or absolute."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from glob import escape
from pathlib import Path

from cdesearch.store.folder import absolute
from cdesearch.store.index import Index
from cdesearch.store.trust import real

_MARKS = frozenset("*?[")


def globs_of(pattern: str, index: Index) -> tuple[str, ...]:
    """Globs over the index's paths, of which a file needs to match one to match `pattern`.

    An empty tuple means that no path of this index can match.
    """
    typed = pattern.replace("\\", "/") if os.name == "nt" else pattern
    own = () if Path(typed).is_absolute() else (typed,)
    roots = {index.root, absolute(real(index.folder) / index.manifest.root)}  # by its name, and with links followed
    below = {glob for parts in _absolute_globs(typed) for root in roots for glob in _below(parts, root.parts)}
    return (*own, *sorted(below))


def _absolute_globs(pattern: str) -> Iterator[list[str]]:
    """The parts of the pattern as an absolute one: by the names that were typed, and with links followed."""
    parts = pattern.rstrip("/").split("/")
    n_plain = next((place for place, part in enumerate(parts) if _MARKS.intersection(part)), len(parts))
    folder = absolute(Path("/".join([*parts[:n_plain], ""])))
    for start in {folder, real(folder)}:
        names = [*map(escape, start.parts), *parts[n_plain:]]
        yield names
        if not _MARKS.intersection(parts[-1]):  # the name of a folder stands for everything in it
            yield [*names, "**"]


def _below(parts: list[str], root: tuple[str, ...]) -> Iterator[str]:
    """The rests of an absolute glob after its first parts have matched the folder `root`, as globs that begin with `/`.

    `**` matches any number of folders, so several rests are possible.
    """
    places = _skipping({0}, parts)  # how many parts may have matched so far
    for name in root:
        unmatched = [place for place in places if place < len(parts)]
        stays = {place for place in unmatched if parts[place] == "**"}
        steps = {place + 1 for place in unmatched if parts[place] != "**" and fnmatch(name, parts[place])}
        places = _skipping(stays | steps, parts)
    yield from ("/" + "/".join(parts[place:]) for place in places if place < len(parts))


def _skipping(places: set[int], parts: list[str]) -> set[int]:
    """The places, and those that follow them because `**` may match no folder at all."""
    found = set(places)
    for place, part in enumerate(parts):
        if place in found and part == "**":
            found.add(place + 1)
    return found

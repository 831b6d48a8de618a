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
    """The globs over the paths of `index` that together are equivalent to `pattern`: a file must match one of them.

    An empty tuple means that no path of the index can match.
    """
    typed = pattern.replace("\\", "/") if os.name == "nt" else pattern
    own = () if Path(typed).is_absolute() else (typed,)
    # The indexed folder by its name, and with symbolic links followed.
    roots = {index.root, absolute(real(index.folder) / index.manifest.root)}
    absolutes = [*_absolute_globs(typed), *_absolute_globs(escape(typed))]  # the name of a file can contain `[`
    below = {glob for parts in absolutes for root in roots for glob in _below(parts, root.parts)}
    return (*own, *sorted(below))


def _absolute_globs(pattern: str) -> Iterator[list[str]]:
    """The parts of `pattern` as an absolute glob: with the names that were typed, and with symbolic links followed."""
    parts = pattern.rstrip("/").split("/")
    n_plain = next((number for number, part in enumerate(parts) if _MARKS.intersection(part)), len(parts))
    folder = absolute(Path("/".join([*parts[:n_plain], ""])))
    for start in {folder, real(folder)}:
        names = [*map(escape, start.parts), *parts[n_plain:]]
        yield names
        if not _MARKS.intersection(parts[-1]):  # the name of a folder stands for everything in it
            yield [*names, "**"]


def _below(parts: list[str], root: tuple[str, ...]) -> Iterator[str]:
    """What remains of an absolute glob after its first parts have matched the folder `root`; globs that begin with `/`.

    `**` matches any number of folders, so several remainders are possible.
    """
    matched = _skipping({0}, parts)  # how many parts may have matched so far
    for name in root:
        unfinished = [n for n in matched if n < len(parts)]
        stays = {n for n in unfinished if parts[n] == "**"}
        steps = {n + 1 for n in unfinished if parts[n] != "**" and fnmatch(name, parts[n])}
        matched = _skipping(stays | steps, parts)
    yield from ("/" + "/".join(parts[n:]) for n in matched if n < len(parts))


def _skipping(matched: set[int], parts: list[str]) -> set[int]:
    """`matched`, and the numbers of matched parts that are possible too because `**` can match no folder."""
    found = set(matched)
    for n, part in enumerate(parts):
        if n in found and part == "**":
            found.add(n + 1)
    return found

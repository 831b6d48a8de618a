"""Translate the pattern of `--path`, which may be relative to the indexed folder or working directory, or absolute."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from glob import escape
from pathlib import Path

from cdesearch.errors import QueryError
from cdesearch.search.path_filter import alternatives
from cdesearch.store.filesystem import with_slashes
from cdesearch.store.index import Index
from cdesearch.store.place import absolute
from cdesearch.store.trust import real

_MARKS = frozenset("*?[")
MAX_PATTERNS = 1_000  # each of them becomes a part of the condition that every chunk is compared with


def globs_of_all(patterns: Sequence[str], index: Index) -> tuple[str, ...]:
    """Return what `globs_of` returns for each of several patterns; raises QueryError for more than MAX_PATTERNS."""
    if len(patterns) > MAX_PATTERNS:
        raise QueryError(f"There are {len(patterns):,} patterns for paths.", f"Use at most {MAX_PATTERNS:,}.")
    return tuple(glob for pattern in patterns for glob in globs_of(pattern, index))


def globs_of(pattern: str, index: Index) -> tuple[str, ...]:
    """Return globs, relative to the indexed folder, that together match the files that `pattern` matches.

    An empty tuple means that no path of the index can match.
    """
    typed = with_slashes(pattern)
    own = () if Path(typed).is_absolute() else (typed,)
    # The indexed folder as it was named, and with symbolic links resolved.
    place = real(index.place)
    roots = {index.root, *([absolute(place / index.manifest.root)] if isinstance(place, Path) else [])}
    # A file name may contain `[` or `{`.
    forms = dict.fromkeys((*alternatives(typed), escape(typed)))
    absolutes = [parts for form in forms for parts in _absolute_globs(form)]
    below = {glob for parts in absolutes for root in roots for glob in _below(parts, root.parts)}
    return (*own, *sorted(below))


def _absolute_globs(pattern: str) -> Iterator[list[str]]:
    """Yield the parts of `pattern` as absolute globs: as it was typed, and with symbolic links resolved."""
    parts = pattern.rstrip("/").split("/")
    n_plain = next((number for number, part in enumerate(parts) if _MARKS.intersection(part)), len(parts))
    folder = absolute(Path("/".join([*parts[:n_plain], ""])))
    for start in {folder, real(folder)}:
        names = [*map(escape, start.parts), *parts[n_plain:]]
        yield names
        if not _MARKS.intersection(parts[-1]):  # the name of a folder matches everything in it
            yield [*names, "**"]


def _below(parts: list[str], root: tuple[str, ...]) -> Iterator[str]:
    """Yield what remains of an absolute glob after its first parts have matched the folder `root`.

    The remainders are globs that begin with `/`. Because `**` matches any number of folders, there may be several.
    """
    matched = _skipping({0}, parts)  # the possible numbers of parts that have matched so far
    for name in root:
        unfinished = [n for n in matched if n < len(parts)]
        stays = {n for n in unfinished if parts[n] == "**"}
        steps = {n + 1 for n in unfinished if parts[n] != "**" and fnmatch(name, parts[n])}
        matched = _skipping(stays | steps, parts)
    yield from ("/" + "/".join(parts[n:]) for n in matched if n < len(parts))


def _skipping(matched: set[int], parts: list[str]) -> set[int]:
    """Return `matched` and the further numbers of matched parts that are possible because `**` can match no folder."""
    found = set(matched)
    for n, part in enumerate(parts):
        if n in found and part == "**":
            found.add(n + 1)
    return found

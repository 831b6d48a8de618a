"""Globs over paths: as users type them, relative to the indexed folder, and as an SQL condition for LanceDB."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from cdesearch.errors import QueryError
from cdesearch.search.documents import quoted
from cdesearch.store.filesystem import with_slashes
from cdesearch.store.place import absolute
from cdesearch.store.trust import real
from cdesearch.words.characters import spellings

if TYPE_CHECKING:
    from cdesearch.store.index import Index

_PART = re.compile(r"(\*\*/?|\*|\?|\[!?\]?[^\]]*\])", re.DOTALL)
_SIMPLE = {"**": ".*", "**/": "(.*/)?", "*": "[^/]*", "?": r"[^/]\p{M}*"}
_MARK = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")  # alternatives such as {a,b}
MAX_ALTERNATIVES = 1_000  # globs that the braces of one glob may mean
MOST_NAMES = 20  # names of files and folders that are compared without a regular expression, which takes longer
_REPEATED = re.compile(r"(\*\*/){2,}")
BELOW = "(/.*)?"  # matches the files below a folder
MAX_PATTERNS = 1_000  # each of them becomes a part of the condition that every chunk is compared with
_WILD = frozenset("*?[")
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def path_condition(*globs: str) -> str:
    """An SQL condition on the column `path` that is true if the path matches one of `globs`.

    Without globs the condition is false for every path. `*` and `?` match within one folder, and `**` matches across
    folders. `{a,b}` matches either alternative. The path of a folder matches everything below it. A glob without a `/`
    matches at any depth. A glob with a `/` is relative to the indexed folder, even if it begins with the `/`. A path
    that contains `*`, `?`, `[` or `{` matches itself. Accents may be characters of their own on either side. Raises
    QueryError for an empty glob, and for an empty range such as [z-a].
    """
    if not globs:
        return "false"
    if "" in globs:
        raise QueryError("The pattern for paths is empty.", "Omit it to search all files.")
    named = [*map(_named, globs)]
    if all(named) and len(named) <= MOST_NAMES:
        return " OR ".join(map(str, named))
    expressions = dict.fromkeys(
        expression for glob in globs for expression in (*map(_whole, alternatives(glob)), _exactly(glob))
    )
    return f"regexp_like(path, '(?s){'|'.join(expressions)}')"  # `_code` has escaped all quotes


def _named(glob: str) -> str | None:
    """The condition for a glob that is the name or the path of a file or folder; None for another glob, or accents.

    Of a million paths, it finds a folder in 25 ms, and a regular expression in 115.
    """
    pattern = _plain(glob)
    name = pattern.removeprefix("/")
    if not name or _MARK.search(name) or any(len(spellings(one)) > 1 for one in name):
        return None
    anywhere = f" OR contains(path, {quoted(f'/{name}/')}) OR ends_with(path, {quoted(f'/{name}')})"
    return f"path = {quoted(name)} OR starts_with(path, {quoted(f'{name}/')}){'' if '/' in pattern else anywhere}"


def alternatives(glob: str) -> tuple[str, ...]:
    """The globs without braces that a glob such as `{a,b}/*.md` means; raises QueryError if there are too many.

    Braces may contain further braces. Braces without a comma are literal.
    """
    found = {glob: None}  # a dictionary keeps the order
    while any(map(_BRACES.search, found)):
        found = {one: None for part in found for one in _first_replaced(part)}
        if len(found) > MAX_ALTERNATIVES:
            raise QueryError(
                f"The pattern {glob:.100} has more than {MAX_ALTERNATIVES:,} alternatives.", "Use * or fewer braces."
            )
    return tuple(found)


def _first_replaced(glob: str) -> list[str]:
    """The glob with each alternative in place of its first innermost braces."""
    braces = _BRACES.search(glob)
    if braces is None:
        return [glob]
    return [glob[: braces.start()] + part + glob[braces.end() :] for part in braces[1].split(",")]


def _whole(glob: str) -> str:
    """The regular expression of a glob, which must match up to the end of the path."""
    pattern = _plain(glob)
    expression = "".join(_expression(part) for part in _PART.split(pattern.removeprefix("/")))
    below = "" if any(mark in pattern.rsplit("/", 1)[-1] for mark in "*?[") else BELOW
    return f"{_start(pattern)}{expression}{below}$"


def _exactly(path: str) -> str:
    """A regular expression that matches a path literally, and everything below it if it is a folder."""
    pattern = _plain(path)
    return f"{_start(pattern)}{_literal(pattern.removeprefix('/'))}{BELOW}$"


def _plain(glob: str) -> str:
    """A glob without what has no meaning. The memory for repeated `**/` would grow with their number squared."""
    return _REPEATED.sub("**/", normalize("NFC", glob).removeprefix("./")).rstrip("/")


def _start(pattern: str) -> str:
    return "^" if "/" in pattern else "(^|/)"


def _expression(part: str) -> str:
    """One part of a glob as a regular expression of Rust's regex library. Every character in [abc] is escaped."""
    if part in _SIMPLE:
        return _SIMPLE[part]
    if not (part.startswith("[") and part.endswith("]") and len(part) > 2):
        return _literal(part)
    inside = part[1:-1]
    is_negated = inside.startswith("!") and len(inside) > 1
    members = []
    for first, last, single in _RANGE.findall(inside[is_negated:]):
        if first > last:
            raise QueryError(f"The range {first}-{last} in {part} is empty.", "Put the lower end first.")
        members.append(f"{_code(first)}-{_code(last)}" if first else _code(single))
    return f"[{'^/' if is_negated else ''}{''.join(members)}]"


def _literal(text: str) -> str:
    return "".join(map(_either, text))


def _either(character: str) -> str:
    """A regular expression for a character, which the name of a file may have as a letter and its accents."""
    first, *others = spellings(character)
    shown = first if first.isalnum() or first in "/_" else _code(first)
    return f"(?:{shown}|{''.join(map(_code, others[0]))})" if others else shown


def _code(character: str) -> str:
    """The character as an escaped code point, which always matches literally; raises QueryError."""
    if 0xD800 <= ord(character) <= 0xDFFF:
        raise QueryError("The pattern for paths is not valid Unicode.", "Encode it in UTF-8.")
    return rf"\x{{{ord(character):x}}}"


def globs_of_typed(patterns: Sequence[str], index: "Index") -> tuple[str, ...]:
    """What `globs_of` returns for each of several patterns; raises QueryError for more than MAX_PATTERNS."""
    if len(patterns) > MAX_PATTERNS:
        raise QueryError(f"There are {len(patterns):,} patterns for paths.", f"Use at most {MAX_PATTERNS:,}.")
    return tuple(glob for pattern in patterns for glob in globs_of(pattern, index))


def globs_of(pattern: str, index: "Index") -> tuple[str, ...]:
    """Globs, relative to the indexed folder, that together match the files that `pattern` matches.

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
    n_plain = next((number for number, part in enumerate(parts) if _WILD.intersection(part)), len(parts))
    folder = absolute(Path("/".join([*parts[:n_plain], ""])))
    for start in {folder, real(folder)}:
        names = [*map(escape, start.parts), *parts[n_plain:]]
        yield names
        if not _WILD.intersection(parts[-1]):  # the name of a folder matches everything in it
            yield [*names, "**"]


def _below(given: list[str], root: tuple[str, ...]) -> Iterator[str]:
    """Yield what remains of an absolute glob after its first parts have matched the folder `root`.

    The remainders are globs that begin with `/`. Because `**` matches any number of folders, there may be several.
    """
    parts = [normalize("NFC", part) for part in given]
    matched = _skipping({0}, parts)  # the possible numbers of parts that have matched so far
    for name in map(partial(normalize, "NFC"), root):
        unfinished = [n for n in matched if n < len(parts)]
        stays = {n for n in unfinished if parts[n] == "**"}
        steps = {n + 1 for n in unfinished if parts[n] != "**" and fnmatch(name, parts[n])}
        matched = _skipping(stays | steps, parts)
    yield from ("/" + "/".join(parts[n:]) for n in matched if n < len(parts))


def _skipping(matched: set[int], parts: list[str]) -> set[int]:
    """`matched` and the further numbers of matched parts that are possible because `**` can match no folder."""
    found = set(matched)
    for n, part in enumerate(parts):
        if n in found and part == "**":
            found.add(n + 1)
    return found

"""Translate globs over paths into a SQL condition for LanceDB."""

import re

from cdesearch.errors import QueryError

_PART = re.compile(r"(\*\*/?|\*|\?|\[!?\]?[^\]]*\])", re.DOTALL)
_SIMPLE = {"**": ".*", "**/": "(.*/)?", "*": "[^/]*", "?": "[^/]"}
BELOW = "(/.*)?"  # the files in a folder
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def path_condition(*globs: str) -> str:
    """A SQL condition on the column `path` that is true for paths that match one of `globs`; without globs for none.

    `*` and `?` match inside one folder, `**` across folders. The path of a folder matches everything below it. A glob
    that has no `/` matches at any depth; one with a `/` is relative to the indexed folder, also if it begins with `/`.
    A path that contains `*`, `?` or `[` matches itself. Raises QueryError for an empty glob and a range such as [z-a].
    """
    if not globs:
        return "false"
    if "" in globs:
        raise QueryError("The pattern for paths is empty.", "Leave it out to search all files.")
    expressions = dict.fromkeys(expression for glob in globs for expression in (_whole(glob), _exactly(glob)))
    return f"regexp_like(path, '(?s){'|'.join(expressions)}')"  # has no quotes: `_code` replaces them


def _whole(glob: str) -> str:
    """The regular expression of a glob, from the start of a path or of a name in it to its end."""
    pattern = _plain(glob)
    expression = "".join(_expression(part) for part in _PART.split(pattern.removeprefix("/")))
    below = "" if any(mark in pattern.rsplit("/", 1)[-1] for mark in "*?[") else BELOW
    return f"{_start(pattern)}{expression}{below}$"


def _exactly(path: str) -> str:
    """The regular expression of a path, and of everything below it if it is a folder."""
    pattern = _plain(path)
    return f"{_start(pattern)}{_literal(pattern.removeprefix('/'))}{BELOW}$"


def _plain(glob: str) -> str:
    return glob.removeprefix("./").rstrip("/")


def _start(pattern: str) -> str:
    return "^" if "/" in pattern else "(^|/)"


def _expression(part: str) -> str:
    """One part of a glob as a regular expression of Rust's regex library."""
    if part in _SIMPLE:
        return _SIMPLE[part]
    return _character_class(part) if part.startswith("[") and part.endswith("]") and len(part) > 2 else _literal(part)


def _character_class(part: str) -> str:
    """`[abc]`, `[a-z]` or `[!abc]` with every character escaped, so that none has a special meaning."""
    inside = part[1:-1]
    is_negated = inside.startswith("!") and len(inside) > 1
    members = []
    for first, last, single in _RANGE.findall(inside[is_negated:]):
        if first > last:
            raise QueryError(f"The range {first}-{last} in {part} is empty.", "Write the lower end first.")
        members.append(f"{_code(first)}-{_code(last)}" if first else _code(single))
    return f"[{'^/' if is_negated else ''}{''.join(members)}]"


def _literal(text: str) -> str:
    return "".join(character if character.isalnum() or character in "/_" else _code(character) for character in text)


def _code(character: str) -> str:
    """The character as an escaped code point, which every regular expression matches literally; raises QueryError."""
    if 0xD800 <= ord(character) <= 0xDFFF:
        raise QueryError("The pattern for paths is not valid Unicode.", "Type it in UTF-8.")
    return rf"\x{{{ord(character):x}}}"

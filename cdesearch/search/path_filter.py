"""A glob over paths to a SQL condition for LanceDB."""

import re

from cdesearch.errors import QueryError

_PART = re.compile(r"(\*\*/?|\*|\?|\[!?\]?[^\]]*\])", re.DOTALL)
_SIMPLE = {"**": ".*", "**/": "(.*/)?", "*": "[^/]*", "?": "[^/]"}
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def path_condition(glob: str) -> str:
    """SQL on column `path`: `*` and `?` stay inside one folder, `**` crosses; a bare folder means all below it.

    Raises QueryError for a range such as [z-a].
    """
    pattern = glob.removeprefix("./").rstrip("/")
    expression = "".join(_expression(part) for part in _PART.split(pattern))
    below = "" if any(mark in pattern.rsplit("/", 1)[-1] for mark in "*?[") else "(/.*)?"
    start = "^" if "/" in pattern else "(^|/)"
    return f"regexp_like(path, '(?s){start}{expression}{below}$')"  # no quote is left: `_code` has replaced them


def _expression(part: str) -> str:
    """One part of a glob as a regular expression that Rust's regex library reads."""
    if part in _SIMPLE:
        return _SIMPLE[part]
    return _character_class(part) if part.startswith("[") and part.endswith("]") and len(part) > 2 else _literal(part)


def _character_class(part: str) -> str:
    """`[abc]`, `[a-z]` or `[!abc]`, every character escaped so that none has a meaning of its own."""
    inside = part[1:-1]
    is_negated = inside.startswith("!") and len(inside) > 1
    members = []
    for first, last, single in _RANGE.findall(inside[is_negated:]):
        if first > last:
            raise QueryError(f"The range {first}-{last} in --path {part} is empty.", "Write the lower end first.")
        members.append(f"{_code(first)}-{_code(last)}" if first else _code(single))
    return f"[{'^/' if is_negated else ''}{''.join(members)}]"


def _literal(text: str) -> str:
    return "".join(character if character.isalnum() or character in "/_" else _code(character) for character in text)


def _code(character: str) -> str:
    """The character by its code point, which is a literal in every regular expression; raises QueryError."""
    if 0xD800 <= ord(character) <= 0xDFFF:
        raise QueryError("The glob of --path is not valid Unicode.", "Type it in UTF-8.")
    return rf"\x{{{ord(character):x}}}"

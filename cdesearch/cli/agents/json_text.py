"""Add an entry to a text in JSON with comments, or remove it, and leave every other character as it is."""

import json
import re
from typing import Any

Section = tuple[str, ...]  # keys, the outermost first
Member = tuple[int, int, int]  # where its key and its value begin, and where the value ends

_TEXT = r'("(?:\\.|[^"\\])*")'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/|\ufeff", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])", re.DOTALL)
_GAP = re.compile(r"[\s:,]*")
_COMMA = re.compile(r"\s*,")
_DECODER = json.JSONDecoder()


def value_of(text: str) -> Any:
    """The value of a text, which may have comments and a last comma; {} if there is none. Raises ValueError."""
    plain = _without(_LAST_COMMA, _without(_COMMENT, text))
    value = json.loads(plain) if plain.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("it is not one object")
    return value


def added(text: str, section: Section, name: str, entry: dict[str, Any]) -> str:
    """The text with a new first member of the object that `section` names; raises ValueError if that is no object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = _without(_LAST_COMMA, _without(_COMMENT, text))
    at, depth = plain.find("{"), 0
    if at < 0:
        before = newline if text and not text.endswith("\n") else ""
        whole = json.dumps(_nested(section, {name: entry}), indent=2, ensure_ascii=False)
        return text + before + whole.replace("\n", newline) + newline
    members = _members(plain, at)
    step = _indent(text, members) or "  "
    while depth < len(section) and section[depth] in members:
        at = members[section[depth]][1]
        if plain[at] != "{":
            raise ValueError(f"{section[depth]} is not an object")
        members, depth = _members(plain, at), depth + 1
    ((key, value),) = _nested(section[depth:], {name: entry}).items()
    start = at + 1
    if members and "\n" not in text[start : min(members.values())[0]]:
        return text[:start] + json.dumps({key: value}, ensure_ascii=False)[1:-1] + ", " + text[start:]
    indent = _indent(text, members) or step * (depth + 1)
    member = f"{json.dumps(key)}: {json.dumps(value, indent=step, ensure_ascii=False)}"
    has_line = text[start:].lstrip(" \t").startswith(("\n", "\r"))
    end = "," if members else "" if has_line else newline + step * depth
    return text[:start] + newline + indent + member.replace("\n", newline + indent) + end + text[start:]


def removed(text: str, section: Section, name: str) -> str:
    """The text without a member of the object that `section` names, and without what is empty then."""
    commented = _without(_COMMENT, text)
    plain = _without(_LAST_COMMA, commented)
    at, levels = plain.find("{"), []
    for key in (*section, name):
        levels.append((_members(plain, at), key))
        at = levels[-1][0][key][1]
    while len(levels) > 1 and len(levels[-1][0]) == 1:
        above, name = levels[-2]
        _, begin, end = above[name]
        if commented[begin:end] != text[begin:end]:
            break  # its comments stay
        levels.pop()
    members, key = levels[-1]
    begin, _, end = members[key]
    start = len(text[:begin].rstrip())  # comments stay, and so does the white space after the member
    if comma := _COMMA.match(commented, end):
        return text[:start] + text[comma.end() :]
    before = len(commented[:start].rstrip())
    if commented[before - 1] == ",":
        return text[: before - 1] + text[before:start] + text[end:]
    return text[:start] + text[end:]


def _without(part: re.Pattern[str], text: str) -> str:
    """The text with spaces instead of some parts outside its strings, so that everything else keeps its place."""
    return part.sub(lambda found: found[1] or " " * len(found[0]), text)


def _members(plain: str, at: int) -> dict[str, Member]:
    """The members of the object that begins at a place, by their keys; raises ValueError."""
    found: dict[str, Member] = {}
    begin = _after_gap(plain, at + 1)
    while plain[begin : begin + 1] != "}":
        key, end = _DECODER.raw_decode(plain, begin)
        value = _after_gap(plain, end)
        end = _DECODER.raw_decode(plain, value)[1]
        found[key] = begin, value, end
        begin = _after_gap(plain, end)
    return found


def _after_gap(plain: str, at: int) -> int:
    gap = _GAP.match(plain, at)
    return gap.end() if gap else at


def _indent(text: str, members: dict[str, Member]) -> str:
    """The white space before the first member of an object, if that begins its line."""
    begin = min(members.values(), default=(0, 0, 0))[0]
    before = text[text.rfind("\n", 0, begin) + 1 : begin]
    return "" if before.strip(" \t") else before


def _nested(section: Section, value: dict[str, Any]) -> dict[str, Any]:
    for key in reversed(section):
        value = {key: value}
    return value

"""Ignore files, as git reads them: which rule, of which line, leaves an entry out?"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
NOTHING = "(?!)"  # matches no text at all

_NAMED_CLASS = re.compile(r"\[:([^\]]*?):\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    line: int  # from 1
    text: str
    negated: bool
    only_folders: bool
    by_name: bool  # without a slash: the expression is for the entry's name, otherwise for its path
    expression: str


class RuleSet:
    """The rules of one ignore file; `origin` is how a person finds that file."""

    def __init__(self, origin: str, lines: Iterable[str]) -> None:
        self.origin = origin
        rules = [rule for number, line in enumerate(lines, start=1) if (rule := parse(line, number))]
        self._rules = [(rule, re.compile(rule.expression)) for rule in reversed(rules)]
        # One expression of all rules says "none of them" at once, which is the answer for nearly every entry.
        self._any_name = _alternatives(rule.expression for rule in rules if rule.by_name)
        self._any_path = _alternatives(rule.expression for rule in rules if not rule.by_name)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._rules)

    def match(self, name: str, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule that matches an entry itself; `path` is relative to the folder of the ignore file."""
        named = self._any_name is not None and self._any_name.fullmatch(name)
        placed = self._any_path is not None and self._any_path.fullmatch(path)
        if not named and not placed:
            return None
        for rule, expression in self._rules:
            if (is_folder or not rule.only_folders) and expression.fullmatch(name if rule.by_name else path):
                return rule
        return None

    def describe(self, rule: Rule) -> str:
        """Such as `.gitignore:3 *.log`."""
        return f"{self.origin}:{rule.line} {rule.text}"


def parse(line: str, number: int) -> Rule | None:
    """One line as a rule; None for blank lines and comments."""
    text = _without_trailing_spaces(line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    pattern = text[1:] if negated else text
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern and not only_folders:
        return None
    by_name = "/" not in pattern
    expression = _component(pattern) if by_name else _path(_components(pattern.removeprefix("/")))
    return Rule(number, text, negated, only_folders, by_name, expression)


def _without_trailing_spaces(line: str) -> str:
    """Spaces at the end do not count, except for one after a backslash."""
    stripped = line.rstrip(" ")
    escapes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if escapes % 2 and len(stripped) < len(line) else stripped


def _components(pattern: str) -> list[str]:
    """A pattern cut at its slashes; one inside of `[...]` belongs to the class, and matches nothing there."""
    parts, place, start = [], 0, 0
    while place < len(pattern):
        found = _bracket(pattern, place + 1) if pattern[place] == "[" else None
        if pattern[place] == "/":
            parts.append(pattern[start:place])
            start = place + 1
        place = found[1] if found else place + (2 if pattern[place] == "\\" else 1)
    return [*parts, pattern[start:]]


def _path(components: Sequence[str]) -> str:
    """An expression for a path; `**` stands for any number of folders.

    Each part between two `**` is taken where it first matches and never tried elsewhere, which is enough for globs and
    keeps the time of a hostile pattern within bounds.
    """
    parts: list[list[str]] = [[]]
    for component in components:
        if len(component) > 1 and set(component) == {"*"}:
            parts.append([])
        else:
            parts[-1].append(_component(component))
    first, *others = parts
    expression = "".join(f"{component}/" for component in first)
    if not others:
        return expression.removesuffix("/")
    *middle, last = others
    for part in middle:
        if part:
            block = "".join(f"{component}/" for component in part)
            expression += f"(?>(?:[^/]+/)*?{block})"
    if not last:
        return expression + "(?s:.+)"
    return expression + "(?:[^/]+/)*" + "/".join(last)


def _component(glob: str) -> str:
    """An expression for one name; `*`, `?` and `[...]` never match a slash."""
    sections: list[str] = [""]
    place = 0
    while place < len(glob):
        character = glob[place]
        place += 1
        if character == "*":
            if sections[-1] or len(sections) == 1:
                sections.append("")
        elif character == "?":
            sections[-1] += "[^/]"
        elif character == "[":
            found = _bracket(glob, place)
            if found is None:
                return NOTHING
            expression, place = found
            sections[-1] += expression
        elif character == "\\":
            if place == len(glob):
                return NOTHING
            sections[-1] += re.escape(glob[place])
            place += 1
        else:
            sections[-1] += re.escape(character)
    if len(sections) == 1:
        return sections[0] or NOTHING
    first, *middle, last = sections
    return first + "".join(f"(?>[^/]*?{section})" for section in middle) + f"[^/]*{last}"


def _bracket(glob: str, start: int) -> tuple[str, int] | None:
    """The expression of a class that opens before `start`, and where it ends; None where it never closes."""
    place = start
    negated = glob.startswith(("!", "^"), place)
    place += negated
    first, members, before = True, "", ""  # before: the character that a range may begin with
    while place < len(glob):
        character = glob[place]
        if character == "]" and not first:
            if negated:
                return f"[^/{members}]", place + 1
            return (f"(?!/)[{members}]" if members else NOTHING), place + 1
        first = False
        named = _NAMED_CLASS.match(glob, place)
        if named:
            if named[1] not in POSIX_CLASSES:
                return None
            members, before, place = members + POSIX_CLASSES[named[1]], "", named.end()
            continue
        if character == "-" and before and glob[place + 1 : place + 2] not in ("", "]"):
            taken = _literal(glob, place + 1)
            if taken is None:
                return None
            end, place = taken
            if before <= end:
                members += f"{_escaped(before)}-{_escaped(end)}"
            before = ""
            continue
        taken = _literal(glob, place)
        if taken is None:
            return None
        before, place = taken
        members += _escaped(before)
    return None


def _literal(glob: str, place: int) -> tuple[str, int] | None:
    if glob[place] != "\\":
        return glob[place], place + 1
    return (glob[place + 1], place + 2) if place + 1 < len(glob) else None


def _escaped(character: str) -> str:
    return f"\\{character}" if character in r"\]^-[&~|" else character


def _alternatives(expressions: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{expression})" for expression in expressions)
    return re.compile(joined) if joined else None

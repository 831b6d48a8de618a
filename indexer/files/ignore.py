"""Parse ignore files in the syntax of git, and find the rule that excludes an entry.

The globs with which a user chooses files, `--include` and `--exclude`, have the same syntax.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdesearch.errors import InputError
from cdesearch.store.manifest import Globs, is_glob
from cdesearch.words.characters import spellings

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
MOST_RULES = 5_000  # of an ignore file; each takes a fraction of a microsecond for each entry of a folder
MOST_CHARACTERS = 100_000  # in all of them; hostile ones take 25 microseconds each to compile
NOTHING = "(?!)"  # matches no text at all

_WILDCARD = re.compile(r"[*?\[]")
_CLASS = re.compile(r"\[([!^]?)(\]?(?:\[:\w*:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_MEMBER = re.compile(r"\[:(?P<named>\w*):\]|\\?(?P<first>.)-\\?(?P<last>.)|\\?(?P<one>.)", re.DOTALL)


class TooManyRulesError(ValueError):
    """An ignore file has more rules, or longer ones, than can be compiled in a few seconds."""


@dataclass(frozen=True)
class Rule:
    """One line of an ignore file."""

    line: int  # from 1
    text: str
    negated: bool
    only_folders: bool
    by_name: bool  # without a slash: the expression is for the entry's name, otherwise for its path
    expression: str

    @property
    def is_name(self) -> bool:
        """Whether it has no wildcards."""
        return not _WILDCARD.search(self.text)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression. It is compiled when an entry first matches any rule of the file: most entries match none."""
        return re.compile(self.expression)


class RuleSet:
    """The rules of one ignore file; `origin` is the path of that file as it is shown to users.

    Raises TooManyRulesError above MOST_RULES rules, or above MOST_CHARACTERS in all of them.
    """

    def __init__(self, origin: str, lines: Iterable[str]) -> None:
        self.origin = origin
        rules = [rule for number, line in enumerate(lines, start=1) if (rule := parse(line, number))]
        if len(rules) > MOST_RULES:
            raise TooManyRulesError(f"more than {MOST_RULES:,} rules")
        if sum(len(rule.text) for rule in rules) > MOST_CHARACTERS:
            raise TooManyRulesError(f"more than {MOST_CHARACTERS:,} characters in its rules")
        self._rules = rules[::-1]
        # Most entries match no rule; one expression of all rules finds that out at once.
        self._any_name = _alternatives(rule.expression for rule in rules if rule.by_name)
        self._any_path = _alternatives(rule.expression for rule in rules if not rule.by_name)

    def __bool__(self) -> bool:
        """Whether the file has any rule."""
        return bool(self._rules)

    def match(self, name: str, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule that matches an entry itself; `path` is relative to the folder of the ignore file."""
        name_matches = self._any_name is not None and self._any_name.fullmatch(name)
        path_matches = self._any_path is not None and self._any_path.fullmatch(path)
        if not name_matches and not path_matches:
            return None
        for rule in self._rules:
            if (is_folder or not rule.only_folders) and rule.compiled.fullmatch(name if rule.by_name else path):
                return rule
        return None

    def describe(self, rule: Rule) -> str:
        """The rule as it is shown to users, such as `.gitignore:3 *.log`."""
        return f"{self.origin}:{rule.line} {rule.text}"


def parse(line: str, number: int) -> Rule | None:
    """One line as a rule; None for blank lines and comments."""
    line = line.rstrip("\r\n")
    stripped = line.rstrip(" ")
    escapes = len(stripped) - len(stripped.rstrip("\\"))  # a space after a backslash is kept
    kept = stripped + " " if escapes % 2 and len(stripped) < len(line) else stripped
    text = unicodedata.normalize("NFC", kept)
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


def _components(pattern: str) -> list[str]:
    """A pattern split at its slashes. A slash inside `[...]` is part of the class and matches nothing."""
    parts, position, start = [], 0, 0
    while position < len(pattern):
        found = _CLASS.match(pattern, position)
        if pattern[position] == "/":
            parts.append(pattern[start:position])
            start = position + 1
        position = found.end() if found else position + (2 if pattern[position] == "\\" else 1)
    return [*parts, pattern[start:]]


def _path(components: Sequence[str]) -> str:
    """An expression for a path; `**` stands for any number of folders.

    Each part between two `**` is matched where it first fits, without backtracking. That is enough for globs, and it
    bounds the time that a hostile pattern takes.
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
    position = 0
    while position < len(glob):
        character = glob[position]
        position += 1
        if character == "*":
            if sections[-1] or len(sections) == 1:
                sections.append("")
        elif character == "?":
            sections[-1] += "[^/][\u0300-\u036f]*"
        elif character == "[":
            found = _CLASS.match(glob, position - 1)
            if found is None:
                return NOTHING
            sections[-1] += _class(found)
            position = found.end()
        elif character == "\\":
            if position == len(glob):
                return NOTHING
            sections[-1] += _either(glob[position])
            position += 1
        else:
            sections[-1] += _either(character)
    if len(sections) == 1:
        return sections[0] or NOTHING
    first, *middle, last = sections
    return first + "".join(f"(?>[^/]*?{section})" for section in middle) + f"[^/]*{last}"


def _either(character: str) -> str:
    """An expression for a character, which the name of a file may have as a letter and its accents."""
    if character.isascii():
        return re.escape(character)
    return f"(?:{'|'.join(map(re.escape, spellings(character)))})"


def _class(found: re.Match[str]) -> str:
    members = ""
    for member in _MEMBER.finditer(found[2]):
        if member["named"] is not None:
            members += POSIX_CLASSES.get(member["named"], "")
        elif member["one"] is not None:
            members += _escaped(member["one"])
        elif member["first"] <= member["last"]:
            members += f"{_escaped(member['first'])}-{_escaped(member['last'])}"
    if found[1]:
        return f"[^/{members}]"
    return f"(?!/)[{members}]" if members else NOTHING


def _escaped(character: str) -> str:
    return f"\\{character}" if character in r"\]^-[&~|" else character


def _alternatives(expressions: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{expression})" for expression in expressions)
    return re.compile(joined) if joined else None


@dataclass(frozen=True, slots=True)
class GlobDecision:
    """What the globs decide about an entry. If a folder is included, so is everything in it."""

    excluded_by: str | None = None  # such as `--exclude *.log`
    is_wanted: bool = False  # whether it is read although a program has written it
    is_included: bool = True  # whether a glob of `--include` matches it; true for all entries without `--include`
    is_named: bool = False  # whether a glob without wildcards includes it
    is_shown: bool = False  # whether a glob includes it, or entries below it, by a name that begins with a dot


NO_DECISION = GlobDecision()


class Choice:
    """The globs of an index, matched against paths relative to a source. Raises InputError for an unusable glob."""

    def __init__(self, globs: Globs) -> None:
        self._include = _rules("--include", globs.include)
        self._exclude = _rules("--exclude", globs.exclude)
        included = [*globs.include, *(glob[1:] for glob in globs.exclude if glob.startswith("!"))]
        self._shown = _rules("--include", tuple(one for glob in included for one in _hidden_parts(glob)))
        self.includes_all = self._include is None

    def decide(self, name: str, path: str, *, is_folder: bool, in_included: bool) -> GlobDecision:
        """The decision for an entry; `in_included` says whether a folder above it is included."""
        if self._include is None and self._exclude is None:
            return NO_DECISION
        excluded = _match(self._exclude, name, path, is_folder)
        if excluded is not None and not excluded.negated:
            return GlobDecision(f"--exclude {excluded.text}")
        included = _match(self._include, name, path, is_folder)
        is_included = in_included if included is None else not included.negated
        # With a name without wildcards, the user asks for exactly this file or folder.
        is_named = included is not None and not included.negated and included.is_name
        is_wanted = excluded is not None or is_named
        is_named = is_named or (excluded is not None and excluded.is_name)
        is_shown = name.startswith(".") and _match(self._shown, name, path, is_folder) is not None
        return GlobDecision(None, is_wanted, is_included, is_named, is_shown)


def _match(rules: RuleSet | None, name: str, path: str, is_folder: bool) -> Rule | None:
    return rules.match(name, path, is_folder=is_folder) if rules is not None else None


def _hidden_parts(glob: str) -> Iterator[str]:
    """Globs for the hidden entries that a glob names: `docs/.old/*.md` names `/docs/.old`."""
    parts = glob.strip("/").split("/")
    is_path = "/" in glob.rstrip("/")
    for number, part in enumerate(parts, start=1):
        if part.startswith(".") and part.strip("."):
            yield ("/" if is_path else "") + "/".join(parts[:number])


def _rules(option: str, globs: tuple[str, ...]) -> RuleSet | None:
    for glob in globs:
        if not is_glob(glob) or parse(glob, 1) is None:
            raise InputError(f"{glob!r} cannot be used as a glob ({option}).", "Name files such as '*.py' or docs/old.")
    try:
        return RuleSet(option, globs) if globs else None
    except TooManyRulesError as error:
        raise InputError(f"{option} has {error}.", "Put the rules into a .cdesearchignore file.") from None

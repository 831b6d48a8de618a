"""Find the ignore files from the root of a repository down to a folder, and the one that decides about an entry."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cdesearch.store.filesystem import folder_prefix
from cdesearch.store.opening import open_regular
from indexer.files.ignore import RuleSet, TooManyRulesError

# In increasing order of precedence: .cdesearchignore can include what git does not track.
KINDS = (".gitignore", ".ignore", ".cdesearchignore")
OWN_KINDS = (".ignore", ".cdesearchignore")  # the files for search tools, which can include hidden entries
MOST_BYTES = 1_000_000  # of an ignore file

_CORE = re.compile(r"^[ \t]*\[core\](.*?)(?=^[ \t]*\[|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_EXCLUDES_FILE = re.compile(r'^[ \t]*excludesfile[ \t]*=[ \t]*"?([^"\n]*?)"?[ \t]*$', re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the ignore files exclude or include an entry."""

    ignored: bool
    by: str  # such as `.gitignore:3 *.log`
    kind: str
    is_named: bool  # whether the rule has no wildcards


@dataclass(frozen=True, slots=True)
class Level:
    """The ignore files of one folder, below those of its parents."""

    parent: "Level | None"
    start: int  # characters of a path, as `decide` takes it, before its part below this folder
    rules: dict[str, RuleSet]  # by kind
    is_repository: bool
    exclude: RuleSet | None  # .git/info/exclude

    def decide(self, name: str, path: str, *, is_folder: bool, of_user: RuleSet | None) -> Decision | None:
        """The decision of the last rule that matches in the deepest file; None if no rule matches.

        `path` is relative to the folder where the chain begins.
        """
        for kind in reversed(KINDS):
            level: Level | None = self
            while level is not None:
                rules = level.rules.get(kind)
                found = match_rules(rules, name, path[level.start :], is_folder, kind) if rules else None
                if found is None and kind == ".gitignore" and level.is_repository:
                    # The .gitignore of an outer repository does not apply to this one.
                    found = match_rules(level.exclude, name, path[level.start :], is_folder, "exclude")
                    if found is None:
                        break
                if found is not None:
                    return found
                level = level.parent
        return match_rules(of_user, name, path, is_folder, "user")


def match_rules(rules: RuleSet | None, name: str, path: str, is_folder: bool, kind: str) -> Decision | None:
    """The decision of the rules of one ignore file of a `kind`; None if no rule matches."""
    rule = rules.match(name, path, is_folder=is_folder) if rules else None
    return Decision(not rule.negated, rules.describe(rule), kind, rule.is_name) if rules and rule else None


def extend_chain(
    parent: Level | None,
    folder: Path,
    names: Collection[str],
    start: int,
    shown: str,
    unusable: Callable[[str, str], None],
) -> Level | None:
    """The chain with the ignore files of `folder`, which has entries of these `names`; `parent` if it adds none.

    `shown` is the path of the folder as it is shown to users, with "/" at its end. `unusable` is called with each
    ignore file that cannot be read, and the reason; such a file has no effect.
    """
    rules = {}
    for kind in KINDS:
        if kind in names:
            found = read_rules(folder / kind, folder, shown + kind, unusable)
            if found:
                rules[kind] = found
    is_repository = ".git" in names
    exclude = _exclude(folder, shown, unusable) if is_repository else None
    if not rules and not is_repository:
        return parent
    return Level(parent, start, rules, is_repository, exclude)


def read_rules(file: Path, top: Path, shown: str, unusable: Callable[[str, str], None]) -> RuleSet | None:
    """The rules of an ignore file; None if it cannot be read, for example because of a link below `top`."""
    try:
        with open_regular(file, top) as stream:
            data = stream.read(MOST_BYTES + 1)
        if len(data) <= MOST_BYTES:
            return RuleSet(shown, os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n"))
        problem = f"larger than {MOST_BYTES / 1e6:g} MB"
    except OSError as error:
        problem = (error.strerror or "unreadable").lower()
    except TooManyRulesError as error:
        problem = str(error)
    unusable(shown, f"cannot be used as an ignore file: {problem}")
    return None


def repository_parents(folder: Path) -> Sequence[Path]:
    """The folders above `folder` up to the root of its repository, outermost first; none outside of a repository."""
    folders = [folder, *folder.parents]
    root = next((number for number, one in enumerate(folders) if os.path.exists(one / ".git")), 0)  # noqa: PTH110 (never raises)
    return folders[root:0:-1]


def users_excludes(unusable: Callable[[str, str], None]) -> RuleSet | None:
    """The rules of the user's own git configuration, which apply everywhere."""
    try:
        home = folder_prefix(str(Path.home()))
        file = next(_configured(), None) or _config_home() / "git" / "ignore"
        if not file.is_file():
            return None
        real = file.resolve()
    except (OSError, RuntimeError, ValueError):  # no home folder, no permission, a loop of links, or a NUL in the name
        return None
    shown = folder_prefix("~") + str(file).removeprefix(home) if str(file).startswith(home) else str(file)
    return read_rules(real, real.parent, shown, unusable)


def _configured() -> Iterator[Path]:
    """`core.excludesFile` of the user's git configuration."""
    for config in (Path.home() / ".gitconfig", _config_home() / "git" / "config"):
        try:
            with open_regular(config) as stream:
                text = stream.read(MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        for section in _CORE.finditer(text):
            yield from (Path(value[1]).expanduser() for value in _EXCLUDES_FILE.finditer(section[1]))


def _config_home() -> Path:
    named = os.environ.get("XDG_CONFIG_HOME")
    return Path(named) if named else Path.home() / ".config"


def _exclude(folder: Path, shown: str, unusable: Callable[[str, str], None]) -> RuleSet | None:
    """The rules of git's info/exclude for the repository in `folder`; that of a worktree is elsewhere, and not read."""
    file = folder / ".git" / "info" / "exclude"
    is_file = os.path.isfile(file)  # noqa: PTH113 (never raises)
    return read_rules(file, folder, f"{shown}.git/info/exclude", unusable) if is_file else None

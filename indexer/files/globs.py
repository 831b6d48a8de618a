"""The globs with which a user chooses files: `--include` and `--exclude`, in the syntax of ignore files."""

from collections.abc import Iterator
from dataclasses import dataclass

from cdesearch.errors import InputError
from cdesearch.store.manifest import Globs, is_glob
from indexer.files.ignore import Rule, RuleSet, TooManyRulesError, parse


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

"""The globs with which a user chooses files: `--include` and `--exclude`, in the syntax of ignore files."""

import re
from dataclasses import dataclass

from cdesearch.errors import InputError
from cdesearch.store.manifest import Globs, is_glob
from indexer.files.ignore import Rule, RuleSet, TooManyRulesError, parse

_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class GlobDecision:
    """What the globs decide about an entry. If a folder is included, so is everything in it."""

    excluded_by: str | None = None  # such as `--exclude *.log`
    is_wanted: bool = False  # whether it is read although a program has written it
    is_included: bool = True  # whether a glob of `--include` matches it; true for all entries without `--include`


NO_DECISION = GlobDecision()


class Choice:
    """The globs of an index, matched against paths relative to a source. Raises InputError for an unusable glob."""

    def __init__(self, globs: Globs) -> None:
        self._include = _rules("--include", globs.include)
        self._exclude = _rules("--exclude", globs.exclude)
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
        is_named = included is not None and not included.negated and not _WILDCARD.search(included.text)
        return GlobDecision(None, excluded is not None or is_named, is_included)


def check_globs(globs: Globs) -> None:
    """Raise InputError for globs that cannot be used."""
    Choice(globs)


def _match(rules: RuleSet | None, name: str, path: str, is_folder: bool) -> Rule | None:
    return rules.match(name, path, is_folder=is_folder) if rules is not None else None


def _rules(option: str, globs: tuple[str, ...]) -> RuleSet | None:
    for glob in globs:
        if not is_glob(glob) or parse(glob, 1) is None:
            raise InputError(f"{glob!r} cannot be used as a glob ({option}).", "Name files such as '*.py' or docs/old.")
    try:
        return RuleSet(option, globs) if globs else None
    except TooManyRulesError as error:
        raise InputError(f"{option} has {error}.", "Put the rules into a .cdesearchignore file.") from None

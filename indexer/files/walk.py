"""Walk through folders and decide which files are read, ignored or skipped."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from cdesearch.builders import UnreadFile
from cdesearch.store.filesystem import folder_prefix, with_slashes
from cdesearch.store.manifest import Globs
from indexer.files.ignore import Choice, GlobDecision, RuleSet
from indexer.files.ignore_chain import (
    KINDS,
    OWN_KINDS,
    Level,
    extend_chain,
    match_rules,
    repository_parents,
    users_excludes,
)
from indexer.files.outcome import Found, Ignored, Source, as_utf8, file_outcome, portable, reason_of, unknown_outcome
from indexer.formats.byproducts import MARKERS, byproduct_rule, secret_rule
from indexer.formats.format import suffix_of
from indexer.formats.registry import IMAGE, is_known

INDEX_FOLDER = ".cdesearch"
NO_GLOBS = Globs()


@dataclass(frozen=True, slots=True)
class Selection:
    """The limits and globs by which files are found. Ignore files decide in addition."""

    max_bytes: int  # larger files are skipped, except those that are read as a stream
    globs: Globs = NO_GLOBS
    source_globs: Mapping[Path, Globs] = field(default_factory=dict)  # of folders whose own globs replace `globs`
    with_images: bool = False


def find_sources(paths: Sequence[Path], root: Path, selection: Selection) -> Iterator[Found]:
    """Every file under `paths` in a fixed order, each once.

    Ignore files (.gitignore, .ignore, .cdesearchignore; nested, and in parents up to the root of the repository) and
    the globs of `selection` apply inside folders; a file that `paths` names itself is always read. An excluded folder
    is one entry without contents. Raises InputError for globs that cannot be used.
    """
    max_bytes = selection.max_bytes
    choice = Choice(selection.globs)
    choices = {path: Choice(own) for path, own in selection.source_globs.items()}
    named = {str(path) for path in paths}
    seen: set[str] = set()
    for path in paths:
        own = choices.get(path, choice)
        walk = partial(_Walk, max_bytes=max_bytes, choice=own, with_images=selection.with_images)
        for file, item in _found_at(path, root, walk, max_bytes):
            is_taken_later = not isinstance(item, Source) and file in named and file != str(path)
            if file not in seen and not is_taken_later:
                seen.add(file)
                yield item


def concerns_walk(top: Path, changed: Iterable[Path], globs: Globs = NO_GLOBS) -> bool:
    """Whether the outcome of a walk through the folder `top` may depend on one of the files and folders `changed`.

    They have just changed, appeared or disappeared. The folder of an index and everything that the rules exclude are
    disregarded.
    """
    walk = _Walk(top, "", 0, Choice(globs))
    return any(walk.depends_on(file) for file in changed)


def _found_at(
    path: Path, root: Path, walk: "Callable[[Path, str], _Walk]", max_bytes: int
) -> Iterator[tuple[str, Found]]:
    """The files at a path that the user named: the real path and the outcome of each."""
    shown = portable(path, root)
    try:
        found = path.stat()
    except OSError as error:
        yield str(path), UnreadFile(shown, reason_of(error))
        return
    if stat.S_ISDIR(found.st_mode):
        yield from walk(path, "" if shown == "." else f"{shown}/").items()
    else:
        file = file_outcome(str(path), shown, found, max_bytes)
        yield str(path), replace(file, is_wanted=True) if isinstance(file, Source) else file


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder that is being walked."""

    path: str
    shown: str  # the path as it is shown to users, relative to the root, with "/" at its end
    chain_path: str  # relative to where the chain of ignore files begins, with "/" at its end
    level: Level | None
    names: frozenset[str]  # of its entries
    is_wanted: bool  # whether it is walked although a program has filled it
    is_included: bool  # whether a glob of `--include` matches it or a folder above it


class _Walk:
    """The walk through one folder and everything below it."""

    def __init__(
        self,
        top: Path,
        shown: str,
        max_bytes: int,
        choice: Choice,
        *,
        with_images: bool = False,
    ) -> None:
        self._top = top
        self._choice = choice
        self._real_top = Path(os.path.realpath(top))
        self._prefix = len(str(top / "_")) - 1  # characters of a path before its part below the top
        self._shown = shown
        self._max_bytes = max_bytes
        self._with_images = with_images
        self._unusable: list[tuple[str, str]] = []  # ignore files that cannot be used, each with the reason
        self._explained: set[str] = set()  # their paths, which are not reported again as hidden entries
        self._of_user: RuleSet | None = users_excludes(self._note)
        self._entered: dict[str, _Folder | None] = {}  # by path; None if it cannot be read

    def depends_on(self, file: Path) -> bool:
        """Whether the outcome may depend on a file or folder that has changed, or that no longer exists."""
        if file == self._top or not file.is_relative_to(self._top):
            return file == self._top
        *parents, name = file.relative_to(self._top).parts
        folder = self._entered_once(self._start)
        for parent in parents:
            if folder is None or parent == INDEX_FOLDER:
                return folder is None and not file.parent.exists()  # a removed folder
            rule, globs = self._rule(folder, parent, is_folder=True)
            if rule is not None:
                return False
            folder = self._entered_once(_below(folder, parent, globs))
        if folder is None or name == INDEX_FOLDER:
            return folder is None and not file.parent.exists()
        if name in KINDS or name in MARKERS:
            return True
        kinds = [file.is_dir()] if os.path.lexists(file) else [False, True]  # what was removed may have been either
        return any(self._rule(folder, name, is_folder=kind)[0] is None for kind in kinds)

    @cached_property
    def _start(self) -> _Folder:
        level, chain_path = self._parents()
        is_included = self._choice.includes_all
        return _Folder(str(self._top), self._shown, chain_path, level, frozenset(), True, is_included)

    def _entered_once(self, folder: _Folder) -> _Folder | None:
        """The folder with its ignore files, read at the first call; None if it cannot be read."""
        if folder.path not in self._entered:
            entered = self._enter(folder)
            self._entered[folder.path] = entered[0] if isinstance(entered, tuple) else None
        return self._entered[folder.path]

    def items(self) -> Iterator[tuple[str, Found]]:
        """Files and excluded folders, in the order of the bytes of their paths."""
        entered = self._enter(self._start)
        if not isinstance(entered, tuple):
            yield str(self._top), replace(entered, path=entered.path or "./")
            return
        stack = [entered]  # not recursive: folders may be nested deeper than Python's own stack
        while stack:
            while self._unusable:
                shown, reason = self._unusable.pop(0)
                yield f"{shown}: {reason}", UnreadFile(shown, reason)
            folder, entries = stack[-1]
            for entry in entries:
                found = self._decide(folder, entry)
                if not isinstance(found, _Folder):
                    # A folder may have the name of an ignore file.
                    if found.path.removesuffix("/") not in self._explained:
                        yield entry.path, found
                    continue
                below = self._enter(found)
                if not isinstance(below, tuple):
                    yield entry.path, below
                    continue
                stack.append(below)
                break
            else:
                stack.pop()

    def _note(self, shown: str, reason: str) -> None:
        self._unusable.append((shown, reason))
        self._explained.add(shown)

    def _parents(self) -> tuple[Level | None, str]:
        """The ignore files above the top, and the top's own path below the first of them."""
        above = repository_parents(self._top)
        if not above:
            return None, ""
        level: Level | None = None
        for folder in above:
            try:
                names = {entry.name for entry in folder.iterdir()}
            except OSError:
                continue
            start = 0 if folder == above[0] else len(folder.relative_to(above[0]).as_posix()) + 1
            shown = portable(folder, self._top) + "/"
            level = extend_chain(level, folder, names, start, shown, self._note)
        return level, self._top.relative_to(above[0]).as_posix() + "/"

    def _enter(self, folder: _Folder) -> "tuple[_Folder, Iterator[os.DirEntry[str]]] | UnreadFile | Ignored":
        try:
            with os.scandir(folder.path) as found:
                # An index is not part of the documents.
                entries = [entry for entry in found if entry.name != INDEX_FOLDER]
        except OSError as error:
            return UnreadFile(folder.shown, reason_of(error))
        names = frozenset(entry.name for entry in entries)
        marker = next((f"{kind} ({one})" for one, kind in MARKERS.items() if one in names), None)
        if marker is not None and not folder.is_wanted:
            return Ignored(folder.shown, marker)
        path = Path(folder.path)
        level = extend_chain(folder.level, path, names, len(folder.chain_path), folder.shown, self._note)
        # In the order of whole paths: those in a folder come after its name and "/".
        entries.sort(key=lambda entry: os.fsencode(entry.name) + (b"/" if _is_folder(entry) else b""))
        return replace(folder, level=level, names=names), iter(entries)

    def _decide(self, folder: _Folder, entry: "os.DirEntry[str]") -> Found | _Folder:
        name = entry.name
        is_folder = _is_folder(entry)
        shown = folder.shown + as_utf8(name) + ("/" if is_folder else "")
        rule, globs = self._rule(folder, name, is_folder=is_folder)
        if rule is not None:
            return Ignored(shown, rule)
        if is_folder:
            return _below(folder, name, globs)
        try:
            found = self._link(entry, shown) if entry.is_symlink() else self._inspect(entry, shown)
        except OSError as error:
            return UnreadFile(shown, reason_of(error))
        return replace(found, is_wanted=True) if globs.is_wanted and isinstance(found, Source) else found

    def _inspect(self, entry: "os.DirEntry[str]", shown: str) -> Found:
        """The outcome for an entry that is neither folder nor link and that no rule excludes; raises OSError."""
        found = entry.stat(follow_symlinks=False)
        # Its own links are not resolved, but those above the top are. A Path takes far longer.
        location = os.path.join(self._real_top, entry.path[self._prefix :])  # noqa: PTH118
        source = file_outcome(location, shown, found, self._max_bytes, self._real_top)
        is_read = is_known(entry.name) or (self._with_images and suffix_of(entry.name) in IMAGE.suffixes)
        if not stat.S_ISREG(found.st_mode) or is_read:
            return source
        return unknown_outcome(entry.name, shown, found.st_size, location, self._real_top) or source

    def _rule(self, folder: _Folder, name: str, *, is_folder: bool) -> tuple[str | None, GlobDecision]:
        """The rule that excludes an entry because of its name, or None; and the decision of the globs."""
        path = with_slashes((folder_prefix(folder.path) + name)[self._prefix :])  # below the top
        globs = self._choice.decide(name, path, is_folder=is_folder, in_included=folder.is_included)
        if globs.excluded_by is not None:
            return globs.excluded_by, globs
        path, of_user = folder.chain_path + name, self._of_user
        if folder.level is not None:
            decision = folder.level.decide(name, path, is_folder=is_folder, of_user=of_user)
        else:
            decision = match_rules(of_user, name, path, is_folder, "user")
        if decision is not None and decision.ignored:
            return decision.by, globs
        is_own = decision is not None and decision.kind in OWN_KINDS and name != ".git"
        is_named = globs.is_named or (decision is not None and is_own and decision.is_named)
        secret = None if is_named else secret_rule(path, is_folder=is_folder)
        if secret is not None:
            return secret, globs
        if is_own:
            globs = replace(globs, is_wanted=True)
        elif name.startswith(".") and (name == ".git" or not globs.is_shown):
            return "hidden", globs
        rule = None if globs.is_wanted else byproduct_rule(name, folder.names, is_folder=is_folder)
        if rule is None and not (is_folder or globs.is_included):
            rule = "no --include matches it"
        return rule, globs

    def _link(self, entry: "os.DirEntry[str]", shown: str) -> UnreadFile | Ignored:
        """The reason why a link is not followed. Its target is found under its own name, unless a rule excludes it."""
        target = Path(os.path.realpath(entry.path))
        if not target.exists():
            return UnreadFile(shown, "a link whose target does not exist")
        if not target.is_relative_to(self._real_top):
            return Ignored(shown, "link out of the tree")
        return Ignored(shown, "link to a folder" if target.is_dir() else "link to a file")


def _below(folder: _Folder, name: str, globs: GlobDecision) -> _Folder:
    """A folder in `folder`, not entered yet."""
    return _Folder(
        path=folder_prefix(folder.path) + name,
        shown=f"{folder.shown}{as_utf8(name)}/",
        chain_path=f"{folder.chain_path}{name}/",
        level=folder.level,
        names=frozenset(),
        is_wanted=globs.is_wanted,
        is_included=globs.is_included,
    )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False

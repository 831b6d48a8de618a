"""Which files are worth reading?"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pathspec
import rignore

from cdesearch.errors import SourceError
from indexer.formats import RECORDS, is_known, suffix_of

IGNORE_FILE = ".cdesearchignore"
INDEX_FOLDER = ".cdesearch"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read."""

    file: Path
    path: str  # relative to the root, "/" between parts, always valid UTF-8
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and why."""

    path: str
    reason: str


def find_sources(paths: Sequence[Path], root: Path, max_bytes: int) -> Iterator[Source | Skipped]:
    """Files under `paths` in a fixed order, each once; raises SourceError for a path that is not there.

    Ignore files (.gitignore, .ignore, .cdesearchignore; nested and parent) hold inside folders; a file named
    itself is always taken. Hidden files, links out of the tree, files of no known format and the furniture of Sphinx
    pages are left out.
    """
    seen: set[Path] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise SourceError(f"There is no folder or file {path}.", "Check the spelling.")
        files = _walk(path) if path.is_dir() else [path]
        for file in files:
            if file not in seen:
                seen.add(file)
                yield _look(file, root, max_bytes)


def _walk(folder: Path) -> list[Path]:
    if (folder / "corpus.jsonl").is_file():  # a BEIR folder: its queries and judgements are no documents
        return [folder / "corpus.jsonl"]
    ignored = _IgnoreFiles(folder)
    walker = rignore.walk(folder, require_git=False, should_exclude_entry=ignored.excludes)
    entries = list(walker)
    folders = [folder, *(entry for entry in entries if entry.is_dir() and not entry.is_symlink())]
    found = [entry for entry in entries if is_known(entry) and _is_inside(entry, folder)]
    return sorted([*found, *_unspeakable(folders)], key=os.fsencode)


def _unspeakable(folders: Iterable[Path]) -> Iterator[Path]:
    """Files whose names are not UTF-8, which rignore leaves out without a word."""
    for folder in folders:
        with os.scandir(folder) as entries:
            odd = [Path(entry.path) for entry in entries if not _is_utf8(entry.name) and entry.is_file()]
        yield from filter(is_known, odd)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_inside(entry: Path, folder: Path) -> bool:
    """A regular file, or a link to one that stays in the tree."""
    if not entry.is_symlink():
        return entry.is_file()
    target = entry.resolve()
    return target.is_file() and target.is_relative_to(folder.resolve())


def _look(file: Path, root: Path, max_bytes: int) -> Source | Skipped:
    path = portable(file, root)
    try:
        stat = file.stat()
    except OSError as error:
        return Skipped(path, error.strerror or "cannot be opened")
    if stat.st_size > max_bytes and suffix_of(file.name) not in RECORDS:  # records are read one by one
        return Skipped(path, f"larger than {max_bytes / 1e6:g} MB (--max-file-size)")
    return Source(file, path, stat.st_size, stat.st_mtime_ns)


def portable(file: Path, root: Path) -> str:
    """`file` relative to `root` as valid UTF-8; bytes that are none are shown as backslash escapes."""
    relative = os.path.relpath(file, root).replace(os.sep, "/")
    return os.fsencode(relative).decode("utf-8", "backslashreplace")


def _is_sphinx_furniture(entry: Path) -> bool:
    """What Sphinx puts beside its HTML pages: their sources once more, scripts, and the alphabetical index."""
    furniture = entry.name in ("_sources", "_static", "search.html") or entry.name.startswith("genindex")
    return furniture and (entry.parent / "searchindex.js").is_file()


class _IgnoreFiles:
    """The .cdesearchignore files from `top` down; rignore knows the other two names itself."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._load = lru_cache(maxsize=None)(self._read)

    def excludes(self, entry: Path) -> bool:
        """Whether any .cdesearchignore from the top to the entry's folder names it, or it is an index."""
        if entry.name == INDEX_FOLDER or _is_sphinx_furniture(entry):
            return True
        name = entry.relative_to(self._top).as_posix() + ("/" if entry.is_dir() else "")
        for folder in [entry.parent, *entry.parent.parents]:
            if not folder.is_relative_to(self._top):
                return False
            spec = self._load(folder)
            if spec is not None and spec.match_file(name.removeprefix(folder.relative_to(self._top).as_posix() + "/")):
                return True
        return False

    @staticmethod
    def _read(folder: Path) -> pathspec.GitIgnoreSpec | None:
        file = folder / IGNORE_FILE
        if not file.is_file():
            return None
        return pathspec.GitIgnoreSpec.from_lines(file.read_text(encoding="utf-8", errors="replace").splitlines())

"""Say which index answers where two cover the same files: a query uses the nearest index upward."""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from cdesearch.progress import Display
from cdesearch.store.layout import CURRENT, FOLDER
from cdesearch.store.nesting import outer_index
from cdesearch.terminal import counted

NAMED = 3  # inner indexes that have a line of their own


def note_outer_index(folder: Path, progress: Display) -> None:
    """Say that queries beside the new index `folder` were answered by another index, which covers these files too."""
    above = outer_index(folder.parent, folder)
    if above is not None:
        progress.note(
            f"{above.place} covers {folder.parent} as well. From now on, queries in {folder.parent} are answered"
            f" by the new index; --index {shlex.quote(str(above.place))} chooses the other one."
        )


def note_inner_indexes(folder: Path, sources: Sequence[Path], files: Iterable[Path], progress: Display) -> None:
    """Say for which folders of the `files` below `sources` another index than `folder` still answers."""
    inner = sorted(
        parent
        for parent in _folders(sources, files)
        if parent != folder.parent and os.path.lexists(parent / FOLDER / CURRENT)
    )
    for parent in inner[:NAMED]:
        progress.note(f"Queries in {parent} are still answered by its own index, {parent / FOLDER}.")
    if inner[NAMED:]:
        others = counted(len(inner[NAMED:]), "other folder")
        progress.note(f"Queries in {others} are answered by their own indexes as well.")


def _folders(sources: Sequence[Path], files: Iterable[Path]) -> set[Path]:
    """The sources, and all folders between them and the files."""
    tops = set(sources)
    found = set(tops)
    for parent in {file.parent for file in files}:
        between = (parent, *parent.parents)
        if not tops.isdisjoint(between):
            found.update(between[: next(n for n, above in enumerate(between) if above in tops)])
    return found

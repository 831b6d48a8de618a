"""Where the generations of an index are: in a folder on a disk, or in a bucket (`bucket/storage.py`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cdesearch.errors import IndexDamagedError, IndexNotFoundError
from cdesearch.store.damage import Checks
from cdesearch.store.folder import (
    begun_generations,
    check_marker,
    check_nothing_lost,
    check_path,
    current_name,
    repair_remedy,
)
from cdesearch.store.guard import TABLES, check_not_linked, check_tables, check_tree, unreadable
from cdesearch.store.layout import CURRENT, GENERATIONS


@dataclass(frozen=True, slots=True)
class Live:
    """The live generation of an index, whose files hold no link and name no data elsewhere."""

    files: Path  # the folder with its files, of those in a bucket the small ones
    checks: Checks
    tables: Path | str  # what LanceDB connects to
    options: dict[str, str] | None = None  # with which it connects


class Storage(Protocol):
    """Gives readers the live generation of one index."""

    def open(self) -> Live:
        """The live generation now; raises IndexStateError, and for a bucket also BucketError."""

    def newest_name(self) -> str | None:
        """The name of the live generation, in a bucket as it was a few seconds ago; None if there is none."""


class LocalStorage:
    """An index in a folder on a disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Live:
        check_path(self._folder)
        generation = current_generation(self._folder)
        return Live(generation, Checks(self._folder, generation), generation / TABLES)

    def newest_name(self) -> str | None:
        return current_name(self._folder)


def current_generation(folder: Path) -> Path:
    """The folder of the live generation, after a check that it contains no links; raises IndexStateError."""
    check_marker(folder)
    name = current_name(folder)
    if name is None:
        check_nothing_lost(folder)
        if begun_generations(folder):
            raise IndexNotFoundError(
                f"{folder} holds an index whose first build has not ended.",
                "Repeat the `cdesearch index` command that began it, which continues it.",
            )
        raise IndexNotFoundError(f"{folder} holds no finished index.", "Run `cdesearch index FOLDER`.")
    check_not_linked(folder / GENERATIONS)
    generation = folder / GENERATIONS / name
    try:
        if not generation.is_dir():
            raise IndexDamagedError(
                f"{folder / CURRENT} names a generation that does not exist.", repair_remedy(folder)
            )
        check_tree(generation)
        check_tables(generation)
    except OSError as error:
        raise unreadable(generation, error) from None
    return generation

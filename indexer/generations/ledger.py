"""The list of the generations that the program has made. Only these are removed, unless the list is lost.

A name is recorded before its folder is made.
"""

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.folder import GENERATIONS, generations_in, is_generation_name, read_small, replace_file

LEDGER = "generations.json"


def own_generations(folder: Path) -> list[Path]:
    """The generations in the ledger that exist as real folders, oldest first; raises IndexUnreadableError.

    If the ledger is lost, these are all folders with names of generations: otherwise, they would never be removed.
    """
    names = _stored(folder)
    if names is None:
        return generations_in(folder)
    generations = (folder / GENERATIONS / name for name in names)
    return [generation for generation in generations if generation.is_dir() and not generation.is_symlink()]


def record(folder: Path, generation: Path) -> None:
    """Add a generation that is about to be made."""
    save(folder, [*(one.name for one in own_generations(folder)), generation.name])


def remove(folder: Path, unwanted: Iterable[Path]) -> None:
    """Delete those of `unwanted` that are in the ledger. One that a reader has open may remain until the next call."""
    known = set(own_generations(folder))
    for generation in known.intersection(unwanted):
        shutil.rmtree(generation, ignore_errors=True)
    save(folder, [generation.name for generation in own_generations(folder)])


def is_readable(folder: Path) -> bool:
    """Whether there is a ledger that is not damaged; raises IndexUnreadableError."""
    return _stored(folder) is not None


def _stored(folder: Path) -> list[str] | None:
    """The names in the ledger; None if it is missing or damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError, IndexDamagedError, IndexUntrustedError):
        stored = json.loads(read_small(folder / LEDGER))["generations"]
        return list(dict.fromkeys(name for name in stored if is_generation_name(name)))
    return None


def save(folder: Path, names: list[str]) -> None:
    """Replace the ledger if it differs."""
    if names != _stored(folder):
        replace_file(folder / LEDGER, json.dumps({"generations": names}, indent=2) + "\n")

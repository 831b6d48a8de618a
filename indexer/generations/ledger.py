"""Which generations of an index are ours? Only those that this list names are ever removed.

A name is written down before its folder is made.
"""

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import IndexStateError
from cdesearch.store.folder import GENERATIONS, is_generation_name, read_small, replace_file

LEDGER = "generations.json"


def ours(folder: Path) -> list[Path]:
    """The generations of the ledger that are there as real folders, oldest first.

    A ledger that cannot be read names none: then nothing is removed.
    """
    generations = (folder / GENERATIONS / name for name in _names(folder))
    return [generation for generation in generations if generation.is_dir() and not generation.is_symlink()]


def write_down(folder: Path, generation: Path) -> None:
    """Add a generation that is about to be made."""
    _save(folder, [*(one.name for one in ours(folder)), generation.name])


def remove(folder: Path, unwanted: Iterable[Path]) -> None:
    """Delete those of `unwanted` that the ledger names; all others stay. What a reader holds open may stay for now."""
    known = set(ours(folder))
    for generation in known.intersection(unwanted):
        shutil.rmtree(generation, ignore_errors=True)
    _save(folder, [generation.name for generation in ours(folder)])


def _names(folder: Path) -> list[str]:
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError, IndexStateError):
        stored = json.loads(read_small(folder / LEDGER))["generations"]
        return list(dict.fromkeys(name for name in stored if is_generation_name(name)))
    return []


def _save(folder: Path, names: list[str]) -> None:
    if names != _names(folder) or not os.path.lexists(folder / LEDGER):
        replace_file(folder / LEDGER, json.dumps({"generations": names}, indent=2) + "\n")

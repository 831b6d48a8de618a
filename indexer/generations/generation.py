"""Generations on disk. A new one is built beside the live one, with links to its files, and swapped in as a whole.

A list names the generations that the program has made. Only these are ever removed. A name is recorded before its
folder is made.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from cdesearch.errors import IndexDamagedError, IndexStateError, IndexUnreadableError, IndexUntrustedError
from cdesearch.store.checksums import MANIFEST
from cdesearch.store.filesystem import link_or_copy, open_like, sync
from cdesearch.store.folder import current_name, generations_in, known_entries, replace_file, write_new
from cdesearch.store.guard import TABLES, read_small, reading
from cdesearch.store.index import CONTEXT
from cdesearch.store.layout import CURRENT, GENERATIONS, PLAN, is_generation_name
from cdesearch.store.storage import connect
from cdesearch.store.trust import require_own
from cdesearch.store.vocabulary import VOCABULARY

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
    """Whether there is a ledger that is whole and names the live generation; raises IndexUnreadableError."""
    names, live = _stored(folder), _live(folder)
    return names is not None and (live is None or live.name in names)


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


MAX_PLAN = 16_000_000  # bytes; a plan lists the sources, as a manifest does
FOLDER_NUMBER = "folder_number"  # in a plan: the inode number of its folder
# In an unfinished generation:
SPOOL = "spool.arrow"  # the chunks that were read
WINDOWS = "spool.windows.arrow"  # the same for a model that reads the chunks of a document together
SAMPLE = "context.sample.safetensors"  # the first stage of its context
FITTED = "context.fitted.safetensors"  # the second stage of its context
PROBES = "model.probes"  # the vectors of the probes of a model on a server when the build was begun
TEMPORARY = (SPOOL, WINDOWS, SAMPLE, FITTED, PROBES)


def open_building(
    folder: Path, base: Path | None, plan: dict[str, Any], columns: Mapping[str, pa.Schema] | None = None
) -> Path:
    """The folder of the generation to build: an unfinished one of the same plan, or a new one that starts as `base`.

    An unfinished one is continued if `_is_made_here` holds and its tables have the columns that `columns` gives for
    them. All other unfinished ones that the ledger names are removed.
    """
    live = _live(folder)
    if live is not None:
        (live / PLAN).unlink(missing_ok=True)  # left if a run was killed right after the swap
    others = [generation for generation in own_generations(folder) if generation != live]
    begun = next((one for one in others if _is_made_here(one, plan) and _fits(one, columns or {})), None)
    unfinished = [one for one in others if (one / PLAN).exists() or not (one / MANIFEST).exists()]
    remove(folder, [one for one in unfinished if one != begun])  # such as a stage that was killed or filled the disk
    if begun is not None:
        return begun
    building = new_generation(folder)
    if base is not None:
        # Lance never changes a file, so a link can replace a copy.
        link_or_copy(base / CONTEXT, building / CONTEXT)
        if (base / VOCABULARY).is_file():
            link_or_copy(base / VOCABULARY, building / VOCABULARY)
        shutil.copytree(base / TABLES, building / TABLES, copy_function=link_or_copy)
    stamped = plan | {FOLDER_NUMBER: building.stat().st_ino}
    write_new(building / PLAN, json.dumps(stamped))  # last: a half-copied folder has no plan
    return building


def new_generation(folder: Path) -> Path:
    """An empty folder for a generation, recorded in the ledger; raises IndexUntrustedError.

    Nobody else knows its name yet, so nobody can have put the same one into another folder.
    """
    generation = folder / GENERATIONS / uuid4().hex[:12]
    record(folder, generation)
    generation.mkdir()
    require_own(folder)
    open_like(generation, folder.stat().st_mode)
    return generation


def discard(folder: Path, building: Path) -> None:
    """Remove a build that will not be continued."""
    remove(folder, [building])


def swap_in(folder: Path, building: Path, unfinished: Path | None = None) -> None:
    """Make a finished generation the live one in one step; the previous one stays for readers that have it open.

    So does the generation `unfinished`, of which `building` is a stage. All others that the ledger names are removed.
    The users who may enter the index folder may read the generation: only its owner, unless the owner changes that.
    A kill at any moment leaves it finished: the plan of a build is removed after the swap, and none is written here.
    """
    before, mode = _live(folder), folder.stat().st_mode
    for path in (folder / GENERATIONS, *known_entries(folder)):
        open_like(path, mode)
    _flush(building, mode)
    sync(building.parent)  # the new folder itself, before it is named
    replace_file(folder / CURRENT, building.name + "\n")
    sync(folder)
    (building / PLAN).unlink(missing_ok=True)  # a repair makes a generation live that was live before
    remove(folder, [old for old in own_generations(folder) if old not in (before, building, unfinished)])


def _live(folder: Path) -> Path | None:
    """The live generation; None if CURRENT names none, because a rebuild may start from a damaged index.

    Raises IndexUnreadableError.
    """
    try:
        name = current_name(folder)
    except (IndexDamagedError, IndexUntrustedError):
        return None
    return folder / GENERATIONS / name if name else None


def _is_made_here(generation: Path, plan: dict[str, Any]) -> bool:
    """Whether a build with this plan created this very folder; a copy of the folder does not count.

    Nothing shows whether the chunks and vectors of an unfinished generation are genuine, so one that came with an
    archive or a clone must not be continued. Its author cannot know the inode number that its folder gets here.
    """
    number = generation.stat().st_ino
    return number != 0 and bool(_plan(generation) == plan | {FOLDER_NUMBER: number})


def _plan(generation: Path) -> Any:
    try:
        return json.loads(read_small(generation / PLAN, MAX_PLAN))
    except (OSError, ValueError, RecursionError, IndexDamagedError, IndexUntrustedError):
        return None


def _fits(generation: Path, columns: Mapping[str, pa.Schema]) -> bool:
    """Whether a build can continue with the tables in its folder, which somebody else may have put there."""
    if not (generation / TABLES).is_dir():
        return True  # the build was stopped before it made tables
    try:
        with reading(generation / TABLES):
            database = connect(generation)
            present = [name for name in columns if (generation / TABLES / f"{name}.lance").is_dir()]
            return all(database.open_table(name).schema.equals(columns[name]) for name in present)
    except IndexUnreadableError:
        raise
    except (IndexStateError, ValueError, RuntimeError, OSError):
        return False


def _flush(folder: Path, folder_mode: int) -> None:
    """Flush the new files in `folder` to the disk; files with a second link are flushed already.

    All get the mode that fits a folder of mode `folder_mode`.
    """
    for parent, _, files in os.walk(folder):
        open_like(Path(parent), folder_mode)
        for name in files:
            file = Path(parent) / name
            open_like(file, folder_mode)
            if file.stat().st_nlink == 1:
                sync(file)
        sync(Path(parent))

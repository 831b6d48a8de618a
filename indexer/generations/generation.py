"""Generations on disk. A new one is built beside the live one, with links to its files, and swapped in as a whole."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from cdesearch.errors import IndexDamagedError, IndexStateError, IndexUnreadableError, IndexUntrustedError
from cdesearch.store.checksums import MANIFEST
from cdesearch.store.filesystem import link_or_copy, open_like, sync
from cdesearch.store.folder import generations_in, known_entries, named_generation, replace_file, write_new
from cdesearch.store.guard import TABLES, read_small, reading
from cdesearch.store.index import CONTEXT
from cdesearch.store.layout import CURRENT, GENERATIONS, PLAN
from cdesearch.store.storage import connect
from cdesearch.store.trust import require_own
from cdesearch.store.vector_format import FIRST_STAGE
from cdesearch.store.vocabulary import VOCABULARY

MAX_PLAN = 16_000_000  # bytes; a plan lists the sources, as a manifest does
FOLDER_NUMBER = "folder_number"  # in a plan: the inode number of its folder
# In an unfinished generation:
SPOOL = "spool.arrow"  # the chunks that were read
WINDOWS = "spool.windows.arrow"  # the same for a model that reads the chunks of a document together
SAMPLE = "context.sample.safetensors"  # the first stage of its context
FITTED = "context.fitted.safetensors"  # the second stage of its context
PROBES = "model.probes"  # the vectors of the probes of a model on a server when the build was begun
# In the order in which they are removed: the chunks of a stopped build are kept if it still has FITTED.
TEMPORARY = (SPOOL, WINDOWS, FITTED, SAMPLE, PROBES)
WHOLE = (CONTEXT, VOCABULARY, TABLES)  # what an update begins with
ONLY_FIRST_STAGE = (f"{TABLES}/{FIRST_STAGE}.lance",)  # what a new context begins with


def open_building(
    folder: Path,
    base: Path | None,
    key: dict[str, Any],
    columns: Mapping[str, pa.Schema] | None = None,
    parts: Sequence[str] = WHOLE,
) -> Path:
    """The folder of the generation to build: an unfinished one of the same key, or a new one with `parts` of `base`.

    An unfinished one is continued if `_is_made_here` holds and its tables have the columns that `columns` gives for
    them. All other unfinished ones are removed.
    """
    live = named_generation(folder)
    if live is not None:
        (live / PLAN).unlink(missing_ok=True)  # left if a run was killed right after the swap
    others = [generation for generation in generations_in(folder) if generation != live]
    begun = next((one for one in others if _is_made_here(one, key) and _fits(one, columns or {})), None)
    unfinished = [one for one in others if (one / PLAN).exists() or not (one / MANIFEST).exists()]
    remove([one for one in unfinished if one != begun])  # such as a stage that was killed or filled the disk
    if begun is not None:
        return begun
    building = new_generation(folder)
    if base is not None:
        # Lance never changes a file, so a link can replace a copy.
        for part in parts:
            if (base / part).is_dir():
                shutil.copytree(base / part, building / part, copy_function=link_or_copy)
            elif (base / part).is_file():
                link_or_copy(base / part, building / part)
    stamped = key | {FOLDER_NUMBER: building.stat().st_ino}
    write_new(building / PLAN, json.dumps(stamped))  # last: a half-copied folder has no plan
    return building


def new_generation(folder: Path) -> Path:
    """An empty folder for a generation; raises IndexUntrustedError.

    Nobody else knows its name yet, so nobody can have put the same one into another folder.
    """
    generation = folder / GENERATIONS / uuid4().hex[:12]
    generation.mkdir()
    require_own(folder)
    open_like(generation, folder.stat().st_mode)
    return generation


def holds_embeddings(generation: Path) -> bool:
    """Whether an unfinished generation contains what the model has computed; no file is read.

    Files with a second link are those of the last generation.
    """
    data = (generation / TABLES / f"{FIRST_STAGE}.lance" / "data").glob("*")
    return (generation / SAMPLE).is_file() or any(file.stat().st_nlink == 1 for file in data)


def remove(generations: Iterable[Path]) -> None:
    """Delete generations. One that a reader has open may remain until the next run."""
    for generation in generations:
        shutil.rmtree(generation, ignore_errors=True)


def swap_in(folder: Path, building: Path, unfinished: Path | None = None) -> None:
    """Make a finished generation the live one in one step; the previous one stays for readers that have it open.

    So does the generation `unfinished`, of which `building` is a stage. All others are removed.
    The users who may enter the index folder may read the generation: only its owner, unless the owner changes that.
    A kill at any moment leaves it finished: the plan of a build is removed after the swap, and none is written here.
    """
    before, mode = named_generation(folder), folder.stat().st_mode
    for path in (folder / GENERATIONS, *known_entries(folder)):
        open_like(path, mode)
    for parent, _, files in os.walk(building):  # files with a second link are flushed already
        for path in (Path(parent), *(Path(parent, name) for name in files)):
            open_like(path, mode)
        for file in (Path(parent, name) for name in files):
            if file.stat().st_nlink == 1:
                sync(file)
        sync(Path(parent))
    sync(building.parent)  # the new folder itself, before it is named
    replace_file(folder / CURRENT, building.name + "\n")
    sync(folder)
    (building / PLAN).unlink(missing_ok=True)  # a repair makes a generation live that was live before
    remove([old for old in generations_in(folder) if old not in (before, building, unfinished)])


def _is_made_here(generation: Path, key: dict[str, Any]) -> bool:
    """Whether a build with this key created this very folder; a copy of the folder does not count.

    Nothing shows whether the chunks and vectors of an unfinished generation are genuine, so one that came with an
    archive or a clone must not be continued. Its author cannot know the inode number that its folder gets here.
    """
    number = generation.stat().st_ino
    try:
        stored = json.loads(read_small(generation / PLAN, MAX_PLAN))
    except (OSError, ValueError, RecursionError, IndexDamagedError, IndexUntrustedError):
        return False
    return number != 0 and bool(stored == key | {FOLDER_NUMBER: number})


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

"""Generations on disk: linked from the last one, built aside, swapped in whole."""

import json
import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from cdesearch.checksums import MANIFEST, PLAN
from cdesearch.errors import IndexStateError
from cdesearch.index import CONTEXT
from cdesearch.index_folder import CURRENT, GENERATIONS, current_name, replace_file, write_new
from cdesearch.lance_manifest import TABLES, check_tables
from indexer.ledger import ours, remove, write_down


def open_building(folder: Path, base: Path | None, plan: dict[str, Any]) -> Path:
    """The folder of the generation to build: an unfinished one of the same plan, or a new one that starts as `base`.

    Other unfinished ones are removed, where the ledger names them.
    """
    live = _live(folder)
    if live is not None:
        (live / PLAN).unlink(missing_ok=True)  # killed right after it was swapped in
    others = [generation for generation in ours(folder) if generation != live]
    for generation in others:
        if _plan(generation) == plan and _has_own_tables(generation):
            return generation
    remove(folder, [one for one in others if (one / PLAN).exists() or not (one / MANIFEST).exists()])
    building = folder / GENERATIONS / uuid4().hex[:12]
    write_down(folder, building)
    building.mkdir()
    if base is not None:
        # Lance writes each file once, so a link to it is as good as a copy.
        _link(base / CONTEXT, building / CONTEXT)
        shutil.copytree(base / TABLES, building / TABLES, copy_function=_link)
    write_new(building / PLAN, json.dumps(plan))  # last: a half-copied folder has no plan
    return building


def discard(folder: Path, building: Path) -> None:
    """Remove a build that is not to be continued."""
    remove(folder, [building])


def swap_in(folder: Path, building: Path) -> None:
    """Make the finished build the live generation, at once; the one before stays for readers that have it open."""
    before = _live(folder)
    _flush(building)
    replace_file(folder / CURRENT, building.name + "\n")
    _sync(folder)
    (building / PLAN).unlink()
    remove(folder, [old for old in ours(folder) if old not in (before, building)])


def _live(folder: Path) -> Path | None:
    """The live generation; None where CURRENT names none, for a rebuild may start from a damaged index."""
    try:
        name = current_name(folder)
    except IndexStateError:
        return None
    return folder / GENERATIONS / name if name else None


def _plan(generation: Path) -> Any:
    try:
        return json.loads((generation / PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _has_own_tables(generation: Path) -> bool:
    try:
        check_tables(generation)
    except IndexStateError:
        return False
    return True


def _link(source: str | Path, target: str | Path) -> str:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return str(target)


def _flush(folder: Path) -> None:
    """Bring what is new in `folder` to the disk itself; files with a second link are there already."""
    for place, _, files in os.walk(folder):
        for name in files:
            file = Path(place) / name
            if file.stat().st_nlink == 1:
                _sync(file)
        _sync(Path(place))


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders, and needs no flush of them
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

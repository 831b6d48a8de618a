"""Generations on disk: linked from the last one, built aside, swapped in whole."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from cdesearch.errors import IndexBusyError, StorageError
from cdesearch.index import CURRENT

GENERATIONS = "generations"
PLAN = "plan.json"  # a generation that has one is unfinished
MANIFEST = "manifest.json"


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[None]:
    """Hold the index for writing; raises IndexBusyError, or StorageError where nothing can be written.

    The system lets go of the lock when the process dies, however it dies. The holder's name is in a file of its own.
    """
    holder = folder / "lock.holder"
    try:
        (folder / GENERATIONS).mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        with FileLock(folder / "lock", timeout=-1 if wait else 0):
            holder.write_text(f"process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}", encoding="utf-8")
            yield
    except Timeout:
        who = holder.read_text(encoding="utf-8") if holder.exists() else "just started"
        raise IndexBusyError(
            f"Another run is indexing into {folder} ({who}).", "Wait for it to end, or add --wait."
        ) from None
    except (OSError, RuntimeError, ValueError) as error:
        understood = _storage_error(folder, error)
        if understood is None:
            raise
        raise understood from error


def _storage_error(folder: Path, error: Exception) -> StorageError | None:
    """What a person can do about it, where it is the disk; LanceDB and Arrow wrap the system's error in their own."""
    code = getattr(error, "errno", None)
    text = str(error).lower()
    if code in (errno.ENOSPC, errno.EDQUOT) or "no space left" in text or "quota exceeded" in text:
        return StorageError(f"The disk of {folder} is full.", "Free some space and run the same command: it continues.")
    if code in (errno.EACCES, errno.EPERM, errno.EROFS) or "read-only file system" in text:
        file = Path(getattr(error, "filename", None) or folder)
        if file.is_relative_to(folder) or folder.is_relative_to(file):  # and not one of the documents
            return StorageError(f"{folder} cannot be written.", "Name another place with --index DIR.")
    return None


def open_building(folder: Path, base: Path | None, plan: dict[str, Any]) -> Path:
    """The folder of the generation to build: an unfinished one of the same plan, or a new one that starts as `base`.

    Other unfinished ones are removed.
    """
    live = _live(folder)
    if live is not None:
        (live / PLAN).unlink(missing_ok=True)  # killed right after it was swapped in
    for generation in (folder / GENERATIONS).iterdir():
        if generation != live and _plan(generation) == plan:
            return generation
    for generation in (folder / GENERATIONS).iterdir():
        if generation != live and ((generation / PLAN).exists() or not (generation / MANIFEST).exists()):
            shutil.rmtree(generation)
    building = folder / GENERATIONS / uuid4().hex[:12]
    if base is None:
        building.mkdir()
    else:
        # Lance writes each file once, so a link to it is as good as a copy.
        shutil.copytree(base, building, copy_function=_link, ignore=shutil.ignore_patterns(MANIFEST, PLAN))
    (building / PLAN).write_text(json.dumps(plan), encoding="utf-8")  # last: a half-copied folder has no plan
    return building


def swap_in(folder: Path, building: Path) -> None:
    """Make the finished build the live generation, at once; the one before stays for readers that have it open."""
    before = _live(folder)
    _flush(building)
    fresh = folder / "CURRENT.new"
    fresh.write_text(building.name + "\n", encoding="utf-8")
    _sync(fresh)
    fresh.replace(folder / CURRENT)
    _sync(folder)
    (building / PLAN).unlink()
    for old in building.parent.iterdir():
        if old not in (before, building):
            shutil.rmtree(old, ignore_errors=True)


def _live(folder: Path) -> Path | None:
    file = folder / CURRENT
    name = file.read_text(encoding="utf-8", errors="replace").strip() if file.is_file() else ""
    return folder / GENERATIONS / name if name else None


def _plan(generation: Path) -> Any:
    try:
        return json.loads((generation / PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return target


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

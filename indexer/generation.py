"""Generations on disk: linked from the last one, built aside, swapped in whole."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from cdesearch.errors import IndexBusyError, StorageError

BUILDING = "building"


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[None]:
    """Hold the index for writing; raises IndexBusyError, or StorageError where nothing can be written."""
    try:
        (folder / "generations").mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        lock = FileLock(folder / "lock", timeout=-1 if wait else 0)
        with lock:
            yield
    except Timeout:
        raise IndexBusyError(f"Another run is indexing into {folder}.", "Wait for it, or add --wait.") from None
    except (OSError, RuntimeError) as error:
        raise _storage_error(folder, error) from error


def _storage_error(folder: Path, error: OSError | RuntimeError) -> Exception:
    code = getattr(error, "errno", None)
    if code == errno.ENOSPC or "No space left" in str(error):
        return StorageError(f"The disk of {folder} is full.", "Free some space and run the same command: it continues.")
    if code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"{folder} cannot be written.", "Name another place with --index DIR.")
    return error


def open_building(folder: Path, base: Path | None, plan: dict[str, Any]) -> Path:
    """The folder of the build in progress; an unfinished one of the same plan is continued, any other wiped."""
    building = folder / "generations" / BUILDING
    plan_file = building / "plan.json"
    if plan_file.is_file() and plan_file.read_text(encoding="utf-8") == json.dumps(plan):
        return building
    shutil.rmtree(building, ignore_errors=True)
    if base is None:
        building.mkdir()
    else:
        # Lance writes each file once, so a link to it is as good as a copy.
        shutil.copytree(base, building, copy_function=_link)
        (building / "manifest.json").unlink()
    plan_file.write_text(json.dumps(plan), encoding="utf-8")  # last: a half-copied folder has no plan
    return building


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def swap_in(folder: Path, building: Path) -> Path:
    """Make the finished build the live generation, at once; the one before stays for readers that have it open."""
    before = folder / "CURRENT"
    keep = {before.read_text(encoding="utf-8").strip()} if before.is_file() else set()
    (building / "plan.json").unlink()
    generation = building.with_name(uuid4().hex[:12])
    building.rename(generation)
    _sync(generation.parent)
    fresh = folder / "CURRENT.new"
    with fresh.open("w", encoding="utf-8") as stream:
        stream.write(generation.name + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(before)
    _sync(folder)
    for old in generation.parent.iterdir():
        if old.name not in keep | {generation.name}:
            shutil.rmtree(old, ignore_errors=True)
    return generation


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

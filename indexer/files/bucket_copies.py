"""Copy files of a bucket into the user's cache, where they are indexed like the files of any folder."""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from cdesearch.errors import SourceError
from cdesearch.progress import Display
from cdesearch.store.bucket.objects import Bucket, Stored, bucket_at
from cdesearch.store.copies import copies_of
from cdesearch.store.filesystem import lock_of
from cdesearch.store.layout import CURRENT, GENERATIONS, MARKER
from cdesearch.store.place import BucketAddress
from cdesearch.store.write_errors import write_error
from cdesearch.terminal import counted

UNFINISHED = ".cdesearch-download-"  # begins the name of a file that is being downloaded
LONGEST_NAME = 255  # bytes


def copied(address: BucketAddress, progress: Display) -> Path:
    """The folder with copies of the files at an address, which are brought up to date.

    Raises InputError without the library for buckets, BucketError, StorageError, and SourceError if there are no files.
    """
    folder = copies_of(address)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Several indexes may have the same files, which one run at a time copies.
        with lock_of(folder.with_name(f"{sha256(folder.name.encode()).hexdigest()}.lock"), wait=True):
            _copy(address, folder, progress)
    except OSError as error:
        raise write_error(folder, error) from None
    return folder


def _copy(address: BucketAddress, folder: Path, progress: Display) -> None:
    bucket = bucket_at(address)
    progress.stage(f"Looking for files in {address}", None)
    listed = _without_indexes(address, bucket.list(""), progress)
    objects = _files(listed)
    # What cannot be a file is told. An empty object with the name of a folder, or none, stands for that folder.
    folders = _folders(listed) | {""}
    if others := sorted(name for name in listed.keys() - objects.keys() if listed[name].size or name not in folders):
        progress.note(
            f"This computer cannot store {counted(len(others), 'object')} below {address} as files, such as"
            f" {others[0]:.100}. They are not indexed."
        )
    if not objects:
        raise SourceError(
            f"There are no files below {address}.",
            "Check the spelling. To index a single object, name the prefix above it and --include NAME.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    _remove_others(folder, objects)
    todo = [name for name, stored in objects.items() if not _is_copied(folder / name, stored)]
    advance = progress.stage("Downloading", len(todo))
    for name in todo:
        _download(bucket, name, objects[name], folder / name)
        advance(1)


def _without_indexes(address: BucketAddress, listed: Mapping[str, Stored], progress: Display) -> dict[str, Stored]:
    """The objects that do not belong to an index, which would index itself otherwise. Notes which indexes there are.

    Other objects beside those of an index are files.
    """
    indexes = sorted(
        name.removesuffix(MARKER)
        for name in listed
        if name.rpartition("/")[2] == MARKER and name.removesuffix(MARKER) + CURRENT in listed
    )
    for prefix in indexes:
        progress.note(f"The index in {address}{'/' * bool(prefix)}{prefix.removesuffix('/')} is not indexed itself.")
    own = {prefix + name for prefix in indexes for name in (MARKER, CURRENT)}
    folders = tuple(f"{prefix}{GENERATIONS}/" for prefix in indexes)
    return {name: stored for name, stored in listed.items() if name not in own and not name.startswith(folders)}


def _files(objects: Mapping[str, Stored]) -> dict[str, Stored]:
    """The objects that can be files: a name must be a relative path, and no folder of another one."""
    named = [
        name
        for name in objects
        if Path(name).as_posix() == name
        and all(part not in ("..", "") and len(os.fsencode(part)) <= LONGEST_NAME for part in name.split("/"))
    ]
    folders = _folders(named)
    return {name: objects[name] for name in named if name not in folders}


def _folders(names: Iterable[str]) -> set[str]:
    return {parent.as_posix() for name in names for parent in Path(name).parents}


def _is_copied(file: Path, stored: Stored) -> bool:
    """Whether a file is the copy of the object: it has its size and its time of change."""
    if not file.is_file() or file.is_symlink():
        return False
    found = file.stat()
    return (found.st_size, found.st_mtime_ns) == (stored.size, _changed_ns(stored))


def _changed_ns(stored: Stored) -> int:
    return round(stored.modified.timestamp() * 1000) * 1_000_000


def _download(bucket: Bucket, name: str, stored: Stored, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"{UNFINISHED}{uuid4().hex[:12]}")
    try:
        if not stored.size:  # it may be the sign of an empty folder, which has no content to download
            fresh.touch()
        elif bucket.download(name, fresh, stored.size) is None or fresh.stat().st_size != stored.size:
            return  # removed or replaced since the listing; the next run removes or replaces its copy
        os.utime(fresh, ns=(_changed_ns(stored), _changed_ns(stored)))
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def _remove_others(folder: Path, objects: Mapping[str, Stored]) -> None:
    """Remove the copies of objects that do not exist any more, and folders that have become empty."""
    for place, names, files in os.walk(folder, topdown=False):
        here = Path(place)
        for name in files:
            if (here / name).relative_to(folder).as_posix() not in objects:
                (here / name).unlink()
        for name in names:
            if (here / name).is_symlink():
                (here / name).unlink()
            elif not any((here / name).iterdir()):
                (here / name).rmdir()

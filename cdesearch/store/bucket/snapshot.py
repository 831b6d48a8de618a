"""The name of the live generation in a bucket, and its small files in the user's cache: manifest, context and so on.

A generation never changes, so its files are downloaded once. A file with the same checksum in another generation, such
as the context after an update, is not downloaded again.
"""

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from cdesearch.errors import IndexDamagedError, IndexNotFoundError, InputError
from cdesearch.store.bucket.objects import Bucket, Versioned
from cdesearch.store.checksums import (
    MANIFEST,
    MAX_BYTES,
    Checksums,
    ChecksumsError,
    Entry,
    parse_checksums,
    read_checksums,
    sha256_of,
)
from cdesearch.store.copies import user_cache
from cdesearch.store.filesystem import link_or_copy
from cdesearch.store.layout import (
    CHECKSUMS,
    CURRENT,
    GENERATIONS,
    MARK,
    MARKER,
    is_generation_name,
    lost_settings_remedy,
    rebuild_remedy,
)
from cdesearch.store.place import BucketAddress
from cdesearch.store.write_errors import write_error

KEPT_SECONDS = 86_400.0  # for which the files of a generation stay in the cache after it was opened last
VERSIONS = "/_versions/"  # in the names of Lance's manifests, which are checked before Lance opens a table
AT_ONCE = 8  # files that are downloaded; an index of its own has five or so
_SCRATCH = ".new-"
FRESH_SECONDS = 5.0  # in which a process that has an index open does not ask for a newer generation again


def read_pointer(bucket: Bucket, *, replaces: bool = False) -> tuple[str, Versioned | None]:
    """The name of the live generation now, "" if there is none, and the object that holds it.

    Raises BucketError, and IndexDamagedError for other content, unless the caller `replaces` it without regard to it.
    Raises InputError for other content if the objects are not those of an index.
    """
    stored = bucket.read(CURRENT)
    if stored is None:
        return "", None
    name = stored.content.decode("utf-8", "replace").removesuffix("\n")
    if not is_generation_name(name):
        check_marker(bucket)
        if replaces:
            return "", stored
        raise IndexDamagedError(
            f"{CURRENT} of {bucket.address} does not hold the name of a generation.",
            lost_settings_remedy(bucket.address),
        )
    bucket.newest = time.monotonic(), name
    return name, stored


def check_marker(bucket: Bucket) -> None:
    """Raise InputError if there are objects without the marker of an index, and BucketError."""
    marker = bucket.read(MARKER)
    if (marker is None or marker.content != MARK.encode()) and not bucket.is_empty():
        raise InputError(f"{bucket.address} is not empty and is not an index of this format.", "Choose another prefix.")


def replace_pointer(bucket: Bucket, name: str, before: Versioned | None) -> bool:
    """Make `name` the live generation unless CURRENT is no longer `before`; returns whether it was done."""
    is_done = bucket.swap(CURRENT, f"{name}\n".encode(), before)
    if is_done:
        bucket.newest = time.monotonic(), name
    return is_done


def object_name(generation: str, file: str) -> str:
    """The name of the object that holds a file of a generation."""
    return f"{GENERATIONS}/{generation}/{file}"


def cache_of(address: BucketAddress) -> Path:
    """The folder in the user's cache for the index at an address, which may not exist yet; raises InputError."""
    return user_cache() / "buckets" / address.folder_name


def open_newest(bucket: Bucket) -> Path:
    """The folder with the small files of the live generation, which are downloaded unless they are there.

    Raises BucketError, IndexStateError, and StorageError if the cache cannot be written.
    """
    name, _ = read_pointer(bucket)
    if not name:
        raise IndexNotFoundError(
            f"There is no index in {bucket.address}.", f"Run `cdesearch index FOLDER --index {bucket.address}`."
        )
    folder = cache_of(bucket.address) / GENERATIONS / name
    try:
        checksums = checksums_of(folder) or _begin(bucket, folder)
        needed = [name for name in checksums if name == MANIFEST or VERSIONS in name]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda file: fetch(bucket, folder, file, checksums[file]), needed))
        with suppress(OSError):  # a cache that holds all files may be read-only
            os.utime(folder)
        for other in folder.parent.iterdir():  # not opened lately, or left by killed processes
            with suppress(OSError):
                if other != folder and time.time() - other.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
    except OSError as error:
        raise write_error(cache_of(bucket.address), error) from None
    return folder


def stored_checksums(bucket: Bucket, generation: str) -> tuple[bytes, Checksums]:
    """The checksums of a generation in a bucket, and their file; raises BucketError and IndexDamagedError."""
    stored = bucket.read(object_name(generation, CHECKSUMS), MAX_BYTES)
    if stored is None:
        raise damaged_object(bucket, CHECKSUMS, "is missing")
    try:
        return stored.content, parse_checksums(stored.content)
    except ChecksumsError as error:
        raise damaged_object(bucket, CHECKSUMS, str(error)) from None


def checksums_of(generation: Path) -> Checksums:
    """The checksums of a local generation; none if it has none that can be read."""
    try:
        return read_checksums(generation)
    except ChecksumsError:
        return {}


def fetch(bucket: Bucket, generation: Path, file: str, entry: Entry) -> None:
    """Put one file of a generation in its place in the cache, unless it is there as it was written."""
    place = generation / file
    if place.is_file() and sha256_of(place) == entry.sha256:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=generation, prefix=_SCRATCH) as scratch:
        download(bucket, generation.name, file, entry, Path(scratch, "file"))
        Path(scratch, "file").replace(place)


def download(bucket: Bucket, generation: str, file: str, entry: Entry, target: Path) -> None:
    """Download a file of a generation and compare it with its checksum; raises BucketError and IndexDamagedError."""
    digest = bucket.download(object_name(generation, file), target, entry.size)
    if digest is None:
        raise damaged_object(bucket, file, "is missing")
    if digest != entry.sha256:
        raise damaged_object(bucket, file, "has other content than was written")


def damaged_object(bucket: Bucket, file: str, what: str) -> IndexDamagedError:
    """The error for a damaged file of a generation in a bucket; `what` is a clause such as "is missing"."""
    remedy = lost_settings_remedy if file in (CHECKSUMS, MANIFEST) else rebuild_remedy
    return IndexDamagedError(f"{file} of {bucket.address} {what}.", remedy(bucket.address))


def link_known(file: str, entry: Entry, others: dict[Path, Checksums], place: Path) -> None:
    """Link a file that one of the local generations `others` has with the same checksum, if any, to its place."""
    for other, known in others.items():
        if file in known and known[file].sha256 == entry.sha256 and not place.exists():
            with suppress(OSError):  # the other generation has lost it
                place.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(other / file, place)


def _begin(bucket: Bucket, folder: Path) -> Checksums:
    """Make the folder of a generation, with its checksums and the files that the cache has of others."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content, checksums = stored_checksums(bucket, folder.name)
    scratch = Path(mkdtemp(dir=folder.parent, prefix=_SCRATCH))
    try:
        others = {other: checksums_of(other) for other in folder.parent.iterdir() if other != folder}
        for file, entry in checksums.items():
            link_known(file, entry, others, scratch / file)
        (scratch / CHECKSUMS).write_bytes(content)
        if not checksums_of(folder):  # otherwise another process was faster
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return checksums

"""The small files of one generation in a bucket, in the user's cache: its manifest, context, and Lance's manifests.

A generation never changes, so its files are downloaded once. A file with the same checksum in another generation, such
as the context after an update, is not downloaded again.
"""

import os
import shutil
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, mkdtemp

from cdesearch.errors import IndexDamagedError, IndexNotFoundError, StorageError
from cdesearch.store.bucket.objects import Bucket
from cdesearch.store.bucket.pointer import read_pointer
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
from cdesearch.store.filesystem import link_or_copy
from cdesearch.store.folder import CHECKSUMS, GENERATIONS, lost_settings_remedy, rebuild_remedy
from cdesearch.store.write_errors import write_error

KEPT_SECONDS = 86_400.0  # for which the files of a generation stay in the cache after it was opened last
VERSIONS = "/_versions/"  # in the names of Lance's manifests, which are checked before Lance opens a table
AT_ONCE = 8  # files that are downloaded; an index of its own has five or so
MAX_NAME = 200  # bytes of the name of a file or folder; most file systems allow 255, and a download adds an end
_SCRATCH = ".new-"


def object_name(generation: str, file: str) -> str:
    """The name of the object that holds a file of a generation."""
    return f"{GENERATIONS}/{generation}/{file}"


def open_newest(bucket: Bucket) -> Path:
    """The folder with the small files of the live generation, which are downloaded unless they are there.

    Raises BucketError, IndexStateError, and StorageError if the cache cannot be written.
    """
    pointer = read_pointer(bucket)
    if pointer is None:
        raise IndexNotFoundError(
            f"There is no index in {bucket.address}.", f"Run `cdesearch index FOLDER --index {bucket.address}`."
        )
    folder = bucket.address.folder / GENERATIONS / pointer.generation
    try:
        checksums = _known_checksums(folder)
        if checksums is None:
            checksums = _begin(bucket, folder)
        needed = [name for name in checksums if name == MANIFEST or VERSIONS in name]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda file: fetch(bucket, folder, file, checksums[file]), needed))
        with suppress(OSError):  # a cache that holds all files may be read-only
            os.utime(folder)
        _forget_old(folder)
    except OSError as error:
        raise cache_error(bucket, error) from None
    return folder


def stored_checksums(bucket: Bucket, generation: str) -> tuple[bytes, Checksums]:
    """The checksums of a generation in a bucket, and their file; raises BucketError and IndexDamagedError."""
    stored = bucket.read(object_name(generation, CHECKSUMS), MAX_BYTES)
    if stored is None:
        raise damaged_object(bucket, CHECKSUMS, "is missing")
    if len(stored.content) > MAX_BYTES:
        raise damaged_object(bucket, CHECKSUMS, f"is larger than {MAX_BYTES:,} bytes")
    try:
        checksums = parse_checksums(stored.content)
    except ChecksumsError as error:
        raise damaged_object(bucket, CHECKSUMS, str(error)) from None
    folders = {str(parent) for name in checksums for parent in PurePosixPath(name).parents}
    if folders & checksums.keys() or any(
        len(part.encode()) > MAX_NAME for name in checksums for part in name.split("/")
    ):
        raise damaged_object(bucket, CHECKSUMS, "has names that files cannot have")
    return stored.content, checksums


def fetch(bucket: Bucket, generation: Path, file: str, entry: Entry) -> None:
    """Put one file of a generation in its place in the cache, unless it is there as it was written."""
    place = generation / file
    with suppress(OSError):
        if stat.S_ISREG(place.lstat().st_mode) and sha256_of(place) == entry.sha256:  # opening a pipe would not end
            return
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(mkdtemp(dir=generation, prefix=_SCRATCH))
    try:
        _fill(bucket, generation.name, file, entry, scratch / "file")
        (scratch / "file").replace(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def require_content(bucket: Bucket, generation: Path, file: str, entry: Entry) -> None:
    """Raise IndexDamagedError unless an object is as it was written, which is downloaded to find out."""
    with TemporaryDirectory() as scratch:
        _fill(bucket, generation.name, file, entry, Path(scratch) / "file")


def _known_checksums(folder: Path) -> Checksums | None:
    """The checksums of a generation in the cache; None if it is not there, or if the disk has damaged them."""
    try:
        return read_checksums(folder)
    except ChecksumsError:
        return None


def _begin(bucket: Bucket, folder: Path) -> Checksums:
    """Make the folder of a generation, with its checksums and the files that the cache has of others."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content, checksums = stored_checksums(bucket, folder.name)
    scratch = Path(mkdtemp(dir=folder.parent, prefix=_SCRATCH))
    try:
        (scratch / CHECKSUMS).write_bytes(content)
        _link_known(folder.parent, checksums, scratch)
        if _known_checksums(folder) is None:  # otherwise another process was faster
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return checksums


def _fill(bucket: Bucket, generation: str, file: str, entry: Entry, target: Path) -> None:
    """Download a file and compare it with its checksum; raises IndexDamagedError."""
    digest = bucket.download(object_name(generation, file), target, entry.size)
    if digest is None:
        raise damaged_object(bucket, file, "is missing")
    if digest != entry.sha256:
        raise damaged_object(bucket, file, "has other content than was written")


def cache_error(bucket: Bucket, error: OSError) -> StorageError:
    """The error for a cache that cannot be written, with its path and not the address of the bucket."""
    return write_error(bucket.address.folder, error)


def damaged_object(bucket: Bucket, file: str, what: str) -> IndexDamagedError:
    """The error for a damaged file of a generation in a bucket; `what` is a clause such as "is missing"."""
    remedy = lost_settings_remedy if file in (CHECKSUMS, MANIFEST) else rebuild_remedy
    return IndexDamagedError(f"{file} of {bucket.address} {what}.", remedy(bucket.address.folder))


def _link_known(generations: Path, checksums: Checksums, scratch: Path) -> None:
    """Link the files that the cache has of another generation and that have not changed since."""
    for other in generations.iterdir():
        try:
            known = read_checksums(other)
        except ChecksumsError:
            continue
        for file in checksums.keys() & known.keys():
            same = checksums[file].sha256 == known[file].sha256
            if same and (other / file).is_file() and not (scratch / file).exists():
                (scratch / file).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(other / file, scratch / file)


def _forget_old(opened: Path) -> None:
    """Remove the files of generations that nobody has opened for KEPT_SECONDS, and what killed processes have left."""
    for other in opened.parent.iterdir():
        with suppress(OSError):
            if other != opened and time.time() - other.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)

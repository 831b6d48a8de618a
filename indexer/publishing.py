"""The local folder from which an index in a bucket is written.

It is an ordinary index folder in the user's cache. A run makes it equal to the index in the bucket, builds the next
generation in it, and publishes this generation. So an interrupted build continues as on a disk, and an update on the
same computer downloads nothing.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from cdesearch.errors import BucketError, CdesearchError, IndexBusyError, IndexDamagedError, StorageError
from cdesearch.progress import Display, Progress
from cdesearch.store.bucket.objects import Bucket, Stored, bucket_at
from cdesearch.store.bucket.snapshot import (
    cache_of,
    check_marker,
    checksums_of,
    fetch,
    link_known,
    object_name,
    read_pointer,
    replace_pointer,
    stored_checksums,
)
from cdesearch.store.checksums import read_checksums
from cdesearch.store.damage import Checks
from cdesearch.store.folder import current_name, generations_in, mark_of, replace_file
from cdesearch.store.guard import read_small
from cdesearch.store.layout import CHECKSUMS, CURRENT, FORMAT, GENERATIONS, MARK, MARKER
from cdesearch.store.place import BucketAddress, Place
from cdesearch.store.storage import current_generation
from indexer.generations.generation import remove
from indexer.generations.lock import Target, locked

WORKING_COPY = "local"  # the folder of the copy, in the cache of the index
BASE = "BASE"  # the file beside it, with the name of the generation in the bucket that the copy equals or continues
# Readers look for a newer generation every few seconds, and a query takes seconds; an upload takes hours at most. By
# the clock of the server.
KEPT = timedelta(days=1)


@contextmanager
def published(
    address: BucketAddress, progress: Display, *, has_paths: bool, rebuild: bool, wait: bool
) -> Iterator[Target]:
    """The working copy, as an index that is open for writing, whose new generation is published at the end.

    A `rebuild` does not need the files of the last generation, so they are not downloaded, and the settings are those
    at the address. One with paths does not read the index at all. Raises CdesearchError.
    """
    folder = cache_of(address) / WORKING_COPY
    if (folder / GENERATIONS).is_dir() and mark_of(folder) != FORMAT:  # of another version; it is only a cache
        shutil.rmtree(folder, ignore_errors=True)
    with _named(folder, address), locked(folder, wait):
        copy = _WorkingCopy(address, folder, progress, replaces=rebuild and has_paths)
        yield Target(address, folder, copy.update(is_needed=not rebuild))
        copy.publish()


@contextmanager
def _named(folder: Path, address: BucketAddress) -> Iterator[None]:
    """Let errors about the index in the working copy name the address, by which commands find it."""
    try:
        yield
    except StorageError:  # it is about the disk
        raise
    except CdesearchError as error:
        texts = error.cause, error.remedy
        if not any(str(folder) in text for text in texts):
            raise
        raise type(error)(*(text.replace(str(folder), str(address)) for text in texts)) from error


class _WorkingCopy:
    """The working copy of one index, for one run, which holds its lock."""

    def __init__(self, address: BucketAddress, folder: Path, progress: Display, *, replaces: bool) -> None:
        self._address, self._folder, self._progress = address, folder, progress
        self._bucket = bucket_at(address)
        self._live, self._stored = read_pointer(self._bucket, replaces=replaces)
        if self._stored is None:
            check_marker(self._bucket)

    def update(self, *, is_needed: bool) -> Place:
        """Make the copy equal to the index in the bucket, unless it continues it; returns the place of the settings."""
        own = self._sound_generation()
        if own is not None and own != self._live and self._live in ("", self._base()):
            self._progress.note("An earlier run could not publish what it has built. This run publishes it.")
        elif own is None or own != self._live:
            if not self._live or not is_needed:
                self._forget()
                self._record_base()
                return self._address if self._live else self._folder
            self._download()
        self._record_base()
        return self._folder

    def publish(self) -> None:
        """Upload the live generation of the copy and make it that of the bucket; raises BucketError.

        Raises IndexBusyError if another run has replaced the generation in the bucket since this run began. Then the
        upload is removed.
        """
        own, bucket = current_name(self._folder), self._bucket
        if own is None or own == self._live:
            return
        if self._stored is None:
            bucket.swap(MARKER, MARK.encode(), None)  # one that another program has written since stays
            check_marker(bucket)
        upload(bucket, self._folder / GENERATIONS / own, self._live, bucket.list(GENERATIONS), self._progress)
        if not replace_pointer(bucket, own, self._stored):
            with suppress(BucketError):  # a later run removes what is left
                bucket.remove(bucket.list(f"{GENERATIONS}/{own}"))
            raise IndexBusyError(
                f"Another run has written {self._address} since this run began, so this one is not published.",
                "Run the same command again: it adds your changes to the newest index if its folders are here too.",
            )
        before, self._live = self._live, own
        self._record_base()
        try:
            bucket.remove(_unused(bucket.list(GENERATIONS), own, before))
        except BucketError as error:  # the new generation is live
            self._progress.note(f"Generations that nobody uses any more could not be removed: {error.cause}")

    def _download(self) -> None:
        generation = self._folder / GENERATIONS / self._live
        others = [one for one in generations_in(self._folder) if one != generation]
        download(self._bucket, generation, others, self._progress)
        replace_file(self._folder / CURRENT, f"{self._live}\n")
        remove(others)

    def _sound_generation(self) -> str | None:
        """The live generation of the copy; None if there is none, or if it was damaged and therefore removed."""
        try:
            if current_name(self._folder) is None:
                return None
            generation = current_generation(self._folder)
            Checks(self._folder, generation).require_all_changed()
            return generation.name
        except IndexDamagedError:
            self._progress.note("The copy of the index in the cache is damaged. It is made again.")
            self._forget()
            return None

    def _forget(self) -> None:
        """Make the copy one without a live generation. Unfinished builds stay, so that they can be continued."""
        (self._folder / CURRENT).unlink(missing_ok=True)
        remove(one for one in generations_in(self._folder) if (one / CHECKSUMS).exists())

    def _base(self) -> str:
        try:
            return read_small(self._folder.parent / BASE).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def _record_base(self) -> None:
        if self._base() != self._live:
            replace_file(self._folder.parent / BASE, f"{self._live}\n")


def _unused(objects: dict[str, Stored], live: str, before: str) -> list[str]:
    """The objects of generations of which nobody reads or writes anything any more."""
    now = objects[object_name(live, CHECKSUMS)].modified
    by_generation: dict[str, list[str]] = {}
    for name in objects:
        by_generation.setdefault(name.removeprefix(f"{GENERATIONS}/").partition("/")[0], []).append(name)
    return [
        name
        for generation, names in by_generation.items()
        if generation not in (live, before) and now - max(objects[name].modified for name in names) > KEPT
        for name in names
    ]


AT_ONCE = 8  # files; the library moves the parts of a large file in parallel as well
LARGEST_COPY = 5_000_000_000  # bytes; S3 copies no larger object in one request


def upload(bucket: Bucket, generation: Path, base: str, present: dict[str, Stored], progress: Progress) -> None:
    """Write the files of a finished generation to the bucket, the checksums last.

    A file that the generation `base` of the bucket has with the same checksum is copied there by the server; an empty
    `base` is none. `present` are the objects of a run that was interrupted; those of the right size are not sent
    again. Raises BucketError.
    """
    checksums = read_checksums(generation)
    try:
        known = stored_checksums(bucket, base)[1] if base else {}
    except IndexDamagedError:
        known = {}
    advance = progress.stage("Uploading", len(checksums))

    def send(file: str) -> None:
        entry, target = checksums[file], object_name(generation.name, file)
        sent = present.get(target)
        if sent is None or sent.size != entry.size:
            if file in known and known[file].sha256 == entry.sha256 and entry.size <= LARGEST_COPY:
                bucket.copy(object_name(base, file), target)
            else:
                bucket.upload(generation / file, target)
        advance(1)

    _each(send, checksums)
    bucket.upload(generation / CHECKSUMS, object_name(generation.name, CHECKSUMS))


def download(bucket: Bucket, generation: Path, others: Collection[Path], progress: Progress) -> None:
    """Copy a generation from the bucket to the local folder `generation`, the checksums last.

    Files that the local generations `others` have with the same checksum are linked. A download that was interrupted
    continues. Raises BucketError, IndexDamagedError and OSError.
    """
    content, checksums = stored_checksums(bucket, generation.name)
    generation.mkdir(exist_ok=True)
    known = {other: checksums_of(other) for other in others}
    advance = progress.stage("Downloading", len(checksums))

    def receive(file: str) -> None:
        entry, place = checksums[file], generation / file
        link_known(file, entry, known, place)
        fetch(bucket, generation, file, entry)
        os.utime(place, ns=(entry.mtime_ns, entry.mtime_ns))  # so that it counts as unchanged
        advance(1)

    _each(receive, checksums)
    (generation / CHECKSUMS).write_bytes(content)


def _each(move: Callable[[str], None], files: Iterable[str]) -> None:
    """Call `move` for every file in threads. After an error, no further file is begun."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="cdesearch-transfer") as threads:
        list(threads.map(move, files))

"""The local folder from which an index in a bucket is written.

It is an ordinary index folder in the user's cache. A run makes it equal to the index in the bucket, builds the next
generation in it, and publishes this generation. So an interrupted build continues as on a disk, and an update on the
same computer downloads nothing.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import BucketError, IndexBusyError, IndexDamagedError, IndexUntrustedError
from cdesearch.progress import Display
from cdesearch.store.bucket.objects import bucket_at
from cdesearch.store.bucket.pointer import Pointer, check_marker, read_pointer, replace_pointer, wrong_server
from cdesearch.store.bucket.snapshot import object_name
from cdesearch.store.bucket_address import BucketAddress
from cdesearch.store.damage import Checks
from cdesearch.store.folder import (
    CHECKSUMS,
    CURRENT,
    FORMAT,
    GENERATIONS,
    MARK,
    MARKER,
    current_name,
    mark_of,
    read_small,
    replace_file,
)
from cdesearch.store.index import current_generation
from indexer.generations.ledger import own_generations, record, remove
from indexer.publishing.collection import check_place, collect, generations_in
from indexer.publishing.transfer import download, upload

BASE = (
    "BASE"  # the file beside the copy, with the name of the generation in the bucket that the copy equals or continues
)


def usable_copy(address: BucketAddress) -> Path:
    """The folder of the working copy, after one of another format, or whose marker is damaged, was removed.

    The copy is only a cache. To be called before it is locked. Raises IndexUntrustedError if a link has its place.
    """
    folder = address.working_copy
    if folder.is_symlink():  # a full path would be shown as the address
        cache, name = folder.parents[1], folder.relative_to(folder.parents[1])
        raise IndexUntrustedError(
            f"{name} in {cache} is a symbolic link, which a copy of an index may not be.", "Remove the link."
        )
    if (folder / GENERATIONS).is_dir() and mark_of(folder) != FORMAT:
        shutil.rmtree(folder, ignore_errors=True)
    return folder


class WorkingCopy:
    """The working copy of one index, for one run, which holds its lock."""

    def __init__(self, address: BucketAddress, progress: Display, *, replaces: bool) -> None:
        """Ask the bucket for its live generation, which this run will continue, or which it `replaces` unread.

        Raises BucketError, InputError, and for a run that continues it IndexDamagedError.
        """
        check_place(address)
        self.folder = address.working_copy
        self._progress = progress
        self._bucket = bucket_at(address)
        self._seen: Pointer | None = read_pointer(self._bucket, replaces=replaces)
        if self._seen is None:
            check_marker(self._bucket)

    def update(self, *, is_needed: bool) -> Path:
        """Make the copy equal to the index in the bucket, unless it continues it; raises CdesearchError and OSError.

        A copy that is not needed, because the run builds everything again, is not downloaded. Returns the folder with
        the settings of the index: that of the copy, or if it was not downloaded that which stands for the bucket.
        """
        seen = "" if self._seen is None else self._seen.generation
        own = self._sound_generation()
        if own is not None and own == seen:
            self._record_base(seen)
        elif own is not None and self._base() == seen:
            self._progress.note("An earlier run could not publish what it has built. This run publishes it.")
        elif own is not None and not seen:  # the copy may be the last one of the index
            self._progress.note(
                f"{self._bucket.address} no longer holds the index. This run continues the copy on this computer."
            )
        elif not seen or not is_needed:
            self._forget()
            self._record_base(seen)
            return self._bucket.address.folder if seen else self.folder
        else:
            self._download(seen)
        return self.folder

    def publish(self) -> None:
        """Upload the live generation of the copy and make it that of the bucket; raises BucketError.

        Raises IndexBusyError if another run has replaced the generation in the bucket since this run began. Then the
        upload is removed.
        """
        own = current_name(self.folder)
        seen = self._seen
        if own is None or (seen is not None and own == seen.generation):
            return
        if seen is None:
            self._bucket.swap(MARKER, MARK.encode(), None)  # one that another program has written since stays
            check_marker(self._bucket)
        objects = self._bucket.list(GENERATIONS)
        generation = self.folder / GENERATIONS / own
        upload(self._bucket, generation, seen.generation if seen else "", objects, self._progress)
        objects = self._bucket.list(GENERATIONS)
        if object_name(own, CHECKSUMS) not in objects:
            raise wrong_server(self._bucket)
        there = generations_in(objects)
        before = tuple(name for name in ([] if seen is None else [seen.generation, *seen.before]) if name in there)
        if not replace_pointer(self._bucket, own, seen, before):
            with suppress(BucketError):  # a later run removes what is left
                self._bucket.remove(there.get(own, ()))
            raise IndexBusyError(
                f"Another run has written {self._bucket.address} since this run began, so this one is not published.",
                "Run the same command again: it adds your changes to the newest index if its folders are here too.",
            )
        self._record_base(own)
        try:
            collect(self._bucket, own, before, objects)
        except BucketError as error:  # the new generation is live
            self._progress.note(f"Generations that nobody uses any more could not be removed: {error.cause}")

    def _download(self, name: str) -> None:
        generation = self.folder / GENERATIONS / name
        others = [one for one in own_generations(self.folder) if one != generation]
        record(self.folder, generation)
        download(self._bucket, generation, others, self._progress)
        replace_file(self.folder / CURRENT, f"{name}\n")
        self._record_base(name)
        remove(self.folder, others)

    def _sound_generation(self) -> str | None:
        """The live generation of the copy; None if there is none, or if it was damaged and therefore removed."""
        name = None
        try:
            name = current_name(self.folder)
            if name is not None:
                Checks(self.folder, current_generation(self.folder)).require_all_changed()
        except IndexDamagedError:
            self._progress.note("The copy of the index in the cache is damaged. It is made again.")
            (self.folder / CURRENT).unlink(missing_ok=True)
            finished = [one for one in own_generations(self.folder) if one.name == name or (one / CHECKSUMS).exists()]
            remove(self.folder, finished)
            return None
        return name

    def _forget(self) -> None:
        """Make the copy one without a live generation. Unfinished builds stay, so that they can be continued."""
        own = current_name(self.folder)
        (self.folder / CURRENT).unlink(missing_ok=True)
        if own is not None:
            remove(self.folder, [self.folder / GENERATIONS / own])

    def _base(self) -> str:
        try:
            return read_small(self.folder.parent / BASE).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def _record_base(self, name: str) -> None:
        if self._base() != name:
            replace_file(self.folder.parent / BASE, f"{name}\n")

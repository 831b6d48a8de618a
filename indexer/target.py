"""The index that a run writes: its place, and the folder in which the run builds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cdesearch.errors import IndexNotFoundError
from cdesearch.progress import Display
from cdesearch.store.folder import check_nothing_lost, mark_of
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, FORMAT
from cdesearch.store.place import BucketAddress, Place
from indexer.generations.lock import locked
from indexer.settings import Options


@dataclass(frozen=True, slots=True)
class Target:
    """An index that is open for writing by this run alone."""

    place: Place  # as users name it
    folder: Path  # in which the run builds; for an index in a bucket, the working copy
    described: Place  # the one of both with the settings of the index

    @property
    def has_readers(self) -> bool:
        """Whether queries read from the folder in which the run builds."""
        return self.place == self.folder

    def stored(self, paths: Sequence[Path], options: Options) -> Index | None:
        """The stored index, whose settings are the defaults of this run.

        None if there is none yet, or if a rebuild of named paths ignores it. Raises IndexNotFoundError if there is
        nothing to update.
        """
        if options.rebuild and paths:
            return None
        if isinstance(self.described, BucketAddress) or (self.folder / CURRENT).is_file():
            return Index(self.described)
        check_nothing_lost(self.folder)
        if not paths:
            raise IndexNotFoundError(
                f"There is no index in {self.place} yet.", "Name the files or folders to index as well."
            )
        return None


@contextmanager
def opened_for_writing(place: Place, paths: Sequence[Path], options: Options, progress: Display) -> Iterator[Target]:
    """Lock the index at `place`, and publish what the block builds if it is in a bucket; raises CdesearchError."""
    if isinstance(place, BucketAddress):
        from indexer.publishing import published  # other builds need none of the bucket's modules

        replaces, needs_files = options.rebuild and bool(paths), not options.rebuild
        with published(place, replaces=replaces, needs_files=needs_files, wait=options.wait, progress=progress) as (
            folder,
            described,
        ):
            yield Target(place, folder, described)
        return
    if paths and (mark_of(place) or FORMAT) < FORMAT:
        progress.note(f"The index in {place} has an older format, and is built again.")
    with locked(place, options.wait, renews=bool(paths)):
        yield Target(place, place, place)

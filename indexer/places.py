"""The places of an index: its own, its sources, the root to which paths are relative, and indexes near it."""

import errno
import os
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from cdesearch.errors import InputError, SourceError
from cdesearch.progress import Display
from cdesearch.store.copies import address_of_copies
from cdesearch.store.filesystem import is_available, is_mount
from cdesearch.store.finding import chosen_place, find_index
from cdesearch.store.index import Index, outer_index
from cdesearch.store.layout import FOLDER, removal_command
from cdesearch.store.place import BucketAddress, Place, absolute, for_kind


def missing_sources(sources: Sequence[Path], stored: Index | None) -> tuple[Path, ...]:
    """The sources that do not exist or are not mounted now. Those in buckets are downloaded."""
    were_mounts = frozenset() if stored is None else stored.mounts
    on_disk = (source for source in sources if address_of_copies(source) is None)
    return tuple(source for source in on_disk if not is_available(source, was_mount=source in were_mounts))


def mounted_sources(sources: Sequence[Path], missing: Collection[Path], stored: Index | None) -> tuple[Path, ...]:
    """The sources at which a file system is mounted, or was before it disappeared."""
    were_mounts = frozenset() if stored is None else stored.mounts
    return tuple(source for source in sources if (source in were_mounts if source in missing else is_mount(source)))


def check_missing(missing: Sequence[Path], root: Path, stored: Index | None, *, reads_all: bool) -> None:
    """Raise SourceError for a missing source whose documents a run with this `root` could not keep.

    `reads_all` is whether its options make it read every source again.
    """
    if not missing:
        return
    first = missing[0]
    if stored is None or first not in stored.sources:
        raise SourceError(f"There is no folder or file {first}.", "Check the spelling.")
    if reads_all or not stored.manifest.is_complete or root != stored.root:
        state = "is not mounted" if os.path.lexists(first) else "does not exist"
        raise SourceError(
            f"{first} {state}, and this run would have to read it.",
            f"Put it back, or first run {removal_command(first, stored.sources, stored.place)}.",
        )


def local_source(place: Place, progress: Display) -> Path:
    """The file or folder to read; for files in a bucket, that of their copies, which are brought up to date.

    Raises SourceError, and for a bucket BucketError and StorageError.
    """
    return for_kind(place, _readable, "indexer.files.bucket_copies:copied")(progress)


def _readable(path: Path, progress: Display) -> Path:  # noqa: ARG001 (nothing is copied)
    path = absolute(path)
    try:
        path.stat()
        is_readable = os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise SourceError(f"There is no folder or file {path}.", "Check the spelling.") from None
        is_readable = False
    if not is_readable:
        remedy = "Correct its permissions, or ask its owner for access."
        raise SourceError(f"{path} cannot be read (permission denied).", remedy)
    return path


def index_place(sources: Sequence[Place], named: Place | None) -> Place:
    """The place of the index that is `named`, or that beside `sources`, or the nearest index upward.

    Raises IndexNotFoundError, and InputError for files in a bucket, beside which there can be no index.
    """
    if named is not None:
        return chosen_place(named)
    if any(isinstance(source, BucketAddress) for source in sources):
        raise InputError("An index of files in a bucket needs a place.", "Name one: --index DIR, or an address.")
    paths = [absolute(source) for source in sources if isinstance(source, Path)]
    return common_folder(paths) / FOLDER if paths else find_index(Path.cwd())


def common_folder(paths: Sequence[Path]) -> Path:
    """The deepest folder that contains all of `paths`."""
    # The folder of files in a bucket may not have been made yet.
    is_folder = {path: os.path.isdir(path) or address_of_copies(path) is not None for path in paths}  # noqa: PTH112 (never raises)
    return Path(os.path.commonpath([path if is_folder[path] else path.parent for path in paths]))


def joined_sources(paths: Sequence[Path], stored: Index | None, removed: Collection[Path]) -> tuple[Path, ...]:
    """The sources of an index, to which `paths` are added, without those to remove."""
    before = () if stored is None else stored.sources
    fresh = [path for path in paths if not any(path.is_relative_to(source) for source in before)]
    kept = [source for source in before if not any(source.is_relative_to(path) for path in fresh)]
    return tuple(source for source in dict.fromkeys([*kept, *fresh]) if source not in removed)


def root_of(sources: Sequence[Path], stored: Index | None, place: Place, *, keeps: bool) -> Path:
    """The folder that paths are relative to. With `keeps`, that of the stored index is kept if all sources are in it.

    Otherwise, it is the root that the index would have if it had been made without the sources that are removed now.
    """
    if stored is None:
        return common_folder(sources)
    if not keeps:
        # A `.cdesearch` is at the root of what is indexed beside it.
        beside = place.parent if isinstance(place, Path) and place.name == FOLDER else None
        is_beside = beside is not None and any(source.is_relative_to(beside) for source in sources)
        return common_folder([*sources, beside] if beside is not None and is_beside else sources)
    fresh = [source for source in sources if not source.is_relative_to(stored.root)]
    return common_folder([*fresh, stored.root]) if fresh else stored.root


def note_outer_index(folder: Path, progress: Display) -> None:
    """Say that queries beside the new index `folder` were answered by another index, which covers these files too."""
    above = outer_index(folder.parent, folder)
    if above is not None:
        progress.note(
            f"{above.place} covers {folder.parent} as well. From now on, queries in {folder.parent} are answered"
            f" by the new index; --index {shlex.quote(str(above.place))} chooses the other one."
        )

"""The lock of an index folder: one run at a time writes into it. The folder is made and checked first, or removed."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from filelock import Timeout

from cdesearch.errors import (
    IndexBusyError,
    IndexDamagedError,
    IndexMismatchError,
    IndexNotFoundError,
    IndexStateError,
    IndexUntrustedError,
    InputError,
    StorageError,
)
from cdesearch.progress import Display
from cdesearch.store.filesystem import lock_of, open_like
from cdesearch.store.folder import (
    check_marker,
    check_nothing_lost,
    check_path,
    generations_in,
    is_older,
    known_entries,
    named_generation,
    write_new,
)
from cdesearch.store.guard import check_enterable, check_not_linked, check_tree, read_small
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, GENERATIONS, KNOWN_FILES, MARK, MARKER
from cdesearch.store.place import Place
from cdesearch.store.trust import require_own
from cdesearch.store.write_errors import known_write_error
from indexer.generations.generation import holds_embeddings

PRIVATE = 0o700  # of a new index: it holds the text of files that perhaps only its owner may read


@dataclass(frozen=True, slots=True)
class Target:
    """An index that is open for writing by this run alone."""

    place: Place  # as users name it
    folder: Path  # in which the run builds; for an index in a bucket, the working copy
    described: Place  # the one of both with the settings of the index

    def stored(self, paths: Sequence[Path], *, rebuild: bool) -> Index | None:
        """The stored index, whose settings are the defaults of this run.

        None if there is none yet, or if a rebuild of named paths ignores it. Raises IndexNotFoundError if there is
        nothing to update.
        """
        if rebuild and paths:
            return None
        if self.described != self.folder or (self.folder / CURRENT).is_file():
            return Index(self.described)
        check_nothing_lost(self.folder)
        if not paths:
            raise IndexNotFoundError(
                f"There is no index in {self.place} yet.", "Name the files or folders to index as well."
            )
        return None


@contextmanager
def open_target(
    folder: Path,
    progress: Display,
    *,
    has_paths: bool,
    rebuild: bool,  # noqa: ARG001 (locks it alike)
    wait: bool,
) -> Iterator[Target]:
    """Lock the index in a folder for a run that names paths, or updates all sources; raises CdesearchError."""
    if has_paths and is_older(folder):
        progress.note(f"The index in {folder} has an older format, and is built again.")
    if wait and (folder / "lock").exists() and is_locked(folder):
        progress.note(f"Another run is indexing into {folder} ({_holder(folder)}). This one begins when it has ended.")
    with locked(folder, wait, renews=has_paths):
        yield Target(folder, folder, folder)


def is_locked(folder: Path) -> bool:
    """Whether another run is writing into an index at this moment; false if that cannot be found out."""
    with suppress(OSError):
        try:
            with lock_of(folder / "lock", wait=False):
                return False
        except Timeout:
            return True
    return False


@contextmanager
def locked(folder: Path, wait: bool, *, renews: bool = False) -> Iterator[None]:
    """Lock the index for writing, and make its folder if there is none.

    An index of an older format is emptied if the run `renews` it.

    If this run has made the folder and fails before anything is embedded, everything that it made is removed.
    Raises IndexBusyError, StorageError if nothing can be written, InputError for a folder that is not an index, and
    IndexUntrustedError for one that contains links or belongs to another user.
    """
    made: list[Path] = []  # by this run, in this order
    is_locked = False
    try:
        _prepare(folder, made, renews=renews)
        with lock_of(folder / "lock", wait=wait):
            is_locked = True
            try:
                if not os.path.lexists(folder / MARKER):  # the run that had the lock before has removed the folder
                    _prepare(folder, made, renews=renews)
                require_own(folder)  # whoever owns the folder above can have put another one in its place
                locked_folder = folder.stat()
                write_new(folder / "lock.holder", f"process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}")
                try:
                    yield
                except Exception as error:
                    if os.path.lexists(folder / MARKER) and os.path.samestat(folder.stat(), locked_folder):
                        raise
                    with suppress(OSError):  # what LanceDB has written again
                        if {one.name for one in folder.iterdir()} <= {GENERATIONS, "lock", "lock.holder"}:
                            shutil.rmtree(folder)
                    cause = f"{folder} was removed while this run was writing into it."
                    raise StorageError(cause, "Run the same command again.") from error
            finally:  # still under the lock, so that no other run uses the folder
                _remove_made(folder, made)
    except Timeout:
        raise IndexBusyError(
            f"Another run is indexing into {folder} ({_holder(folder)}).", "Wait for it to end, or add --wait."
        ) from None
    except (OSError, RuntimeError, ValueError, IndexDamagedError) as error:
        # If the disk is full while an update merges tables, the error is first taken for a damaged table.
        understood = known_write_error(folder, error.__cause__ or error)
        if understood is None:
            raise
        raise understood from error
    finally:
        # Windows cannot remove the lock file while it is locked.
        if os.name == "nt" if is_locked else not os.path.lexists(folder / "lock"):
            _remove_made(folder, made)


def remove_index(folder: Path) -> list[Path]:
    """Remove everything that cdesearch has written into an index folder; returns the other files in it, which stay.

    Raises IndexBusyError while another run writes, and IndexStateError for a folder that is not an index.
    """
    if not is_older(folder):
        check_marker(folder)
    with locked(folder, wait=False, renews=True):
        (folder / CURRENT).unlink(missing_ok=True)  # first: from here on, the folder holds no index
        _remove_known(folder)
    (folder / "lock").unlink(missing_ok=True)
    left = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    with suppress(OSError):  # it has other contents
        folder.rmdir()
    return left


def _remove_known(folder: Path) -> None:
    """Remove all that a run writes into an index folder, the marker last."""
    for generation in generations_in(folder):
        shutil.rmtree(generation)
    with suppress(OSError):
        (folder / GENERATIONS).rmdir()
    for name in KNOWN_FILES[::-1]:
        with suppress(PermissionError):  # Windows cannot remove the lock while it is held
            (folder / name).unlink(missing_ok=True)


def _prepare(folder: Path, made: list[Path], *, renews: bool) -> None:
    """Make the folder and its marker if they are missing, and check it; adds new paths to `made`."""
    check_path(folder)
    if os.path.lexists(folder):
        require_own(folder)
    check_enterable(folder)
    check_not_linked(folder)
    for parent in reversed([folder, *folder.parents]):
        if not parent.exists():
            _make(parent)
            made.append(parent)
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder for an index.", "Name a folder with --index DIR.")
    if _is_unmarked(folder):
        made.append(folder / MARKER)
        open_like(folder, PRIVATE)
        write_new(folder / MARKER, MARK)
    if renews and is_older(folder):
        _empty(folder)
    try:
        check_marker(folder)
    except IndexStateError as error:
        if os.path.lexists(folder / CURRENT) or not isinstance(error, IndexNotFoundError | IndexMismatchError):
            raise
        raise InputError(
            f"{folder} is not empty and is not an index, so nothing is written there.",
            "Name another folder with --index DIR.",
        ) from None
    _check_entries(folder)
    if not os.path.lexists(folder / GENERATIONS):
        (folder / GENERATIONS).mkdir()
        open_like(folder / GENERATIONS, folder.stat().st_mode)
    if not os.path.lexists(folder / ".gitignore"):
        write_new(folder / ".gitignore", "*\n")


def _empty(folder: Path) -> None:
    """Make an index of an older format, which nothing here can read, an empty one of this format."""
    for path in (folder, folder / GENERATIONS, *known_entries(folder)):
        check_not_linked(path)
    (folder / CURRENT).unlink(missing_ok=True)
    for generation in generations_in(folder):
        shutil.rmtree(generation)
    write_new(folder / MARKER, MARK)


def _make(folder: Path) -> None:
    """Make a folder; raises InputError if its parent is a file, or a folder in which the system allows none."""
    try:
        folder.mkdir(exist_ok=True)
    except (NotADirectoryError, FileNotFoundError) as error:
        raise InputError(
            f"The folder {folder} cannot be made ({error.strerror}).", "Name another folder with --index DIR."
        ) from None


def _is_unmarked(folder: Path) -> bool:
    """Whether the folder is empty, apart from a marker that was written in part or a lock that was just made."""
    entries = set(os.listdir(folder))  # noqa: PTH208 (names)
    if not entries <= {MARKER, "lock"}:
        return False
    texts = {name: read_small(folder / name).decode("utf-8", "replace") for name in entries}
    marker = texts.get(MARKER, "")
    return marker != MARK and MARK.startswith(marker) and not texts.get("lock")


def _check_entries(folder: Path) -> None:
    """Raise IndexUntrustedError if a path that this run may write, read or remove is not a plain file or folder."""
    for file in known_entries(folder):
        check_not_linked(file)
        if not file.is_file():
            raise IndexUntrustedError(f"{file} is not a plain file, as all of an index must be.", "Remove it.")
        if file.lstat().st_nlink > 1 and file.name == "lock":  # opened for writing, not replaced
            raise IndexUntrustedError(f"{file} is a hard link to another file.", "Remove it.")
    generations = folder / GENERATIONS
    check_not_linked(generations)
    check_enterable(generations)
    if (live := named_generation(folder)) is not None and live.exists():
        check_tree(live)
    for generation in generations_in(folder):
        check_tree(generation)


def _holder(folder: Path) -> str:
    try:
        return read_small(folder / "lock.holder").decode("utf-8", "replace")
    except (OSError, IndexStateError):
        return "just started"


def _remove_made(folder: Path, made: list[Path]) -> None:
    """Remove everything that this run made, unless a generation is live or the model has computed something."""
    if os.path.lexists(folder / CURRENT) or not made or any(map(holds_embeddings, generations_in(folder))):
        return
    with suppress(OSError):  # a folder that contains other files by now is kept
        if folder / MARKER in made:
            _remove_known(folder)
        for path in reversed(made):
            if path.is_dir():
                path.rmdir()

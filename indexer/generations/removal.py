"""Remove an index from its folder. Foreign files beside the generations stay."""

import shutil
from contextlib import suppress
from pathlib import Path

from cdesearch.store.folder import check_marker, generations_in, is_older
from cdesearch.store.layout import CURRENT, GENERATIONS, KNOWN_FILES
from indexer.generations.generation import save
from indexer.generations.lock import locked


def remove_index(folder: Path) -> list[Path]:
    """Remove everything that cdesearch has written into an index folder; returns the other files in it, which stay.

    Raises IndexBusyError while another run writes, and IndexStateError for a folder that is not an index.
    """
    if not is_older(folder):
        check_marker(folder)
    with locked(folder, wait=False, renews=True):
        (folder / CURRENT).unlink(missing_ok=True)  # first: from here on, the folder holds no index
        for generation in generations_in(folder):
            shutil.rmtree(generation)
        save(folder, [])
        with suppress(OSError):
            (folder / GENERATIONS).rmdir()
        for name in KNOWN_FILES[::-1]:  # the marker last
            with suppress(PermissionError):  # Windows cannot remove the lock while it is held
                (folder / name).unlink(missing_ok=True)
    (folder / "lock").unlink(missing_ok=True)
    left = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    with suppress(OSError):  # it has other contents
        folder.rmdir()
    return left

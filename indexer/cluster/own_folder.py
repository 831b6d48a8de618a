"""The private folder of a cluster that is started on this machine for one build."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from cdesearch.store.filesystem import lock_of

PREFIX = "cdesearch-ray-"
LOCK = "lock"  # held for as long as the cluster is used
RAY = "ray"  # the files of Ray; made under the lock


@contextmanager
def own_folder() -> Iterator[str]:
    """A new folder for the files of Ray, which is removed at the end.

    Ray lets everybody write to its folder, so it is inside a private one. Folders that killed processes of this user
    have left behind are removed.
    """
    for found in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _remove_if_left(found)
    private = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with lock_of(private / LOCK, wait=False):
            (private / RAY).mkdir()
            yield str(private / RAY)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    with suppress(Timeout, OSError):  # it is in use, or another run has just removed it
        if os.name == "nt" or folder.is_symlink() or folder.lstat().st_uid != os.geteuid():
            return
        if (folder / LOCK).is_file() and (folder / RAY).is_dir():  # otherwise it is of others, or just being made
            with lock_of(folder / LOCK, wait=False):
                shutil.rmtree(folder, ignore_errors=True)

"""Remove an index from its folder. Only files that an index writes are deleted, and foreign ones stay."""

import os
import re
from contextlib import suppress
from pathlib import Path

from cdesearch.store.checksums import MANIFEST
from cdesearch.store.file_account import FILES
from cdesearch.store.folder import (
    CHECKSUMS,
    CURRENT,
    GENERATIONS,
    KNOWN_FILES,
    PLAN,
    check_marker,
    generations_in,
)
from cdesearch.store.lance_manifest import NAMES, TABLES
from indexer.generations.ledger import save
from indexer.generations.lock import locked

# The files of a generation, finished or not, by their paths in it. Lance chooses the names of the files of a table, and
# of temporary files. While it writes a file, its name ends with "#" and a number; a run that was killed leaves it so.
_FILE = re.compile(
    rf"({MANIFEST}|{FILES}|{CHECKSUMS}|{PLAN})(\.new)?|spool\.arrow|context(\.sample|\.fitted)?\.(safetensors|new)"
    rf"|{TABLES}/({'|'.join(map(re.escape, sorted(NAMES)))})/"
    r"(data/\w+\.lance|_versions/[\w.-]+\.(manifest|json)|_transactions/[\w-]+\.txn|_deletions/[\w-]+\.(arrow|bin)"
    r"|_indices/[0-9a-f-]{36}/\w+\.(lance|idx))(#\d+)?|tmp/.+"
)


def remove_index(folder: Path) -> list[Path]:
    """Remove everything that cdesearch has written into an index folder; returns the other files in it, which stay.

    Raises IndexBusyError while another run writes, and IndexStateError for a folder that is not an index.
    """
    check_marker(folder)
    with locked(folder, wait=False):
        (folder / CURRENT).unlink(missing_ok=True)  # first: from here on, the folder holds no index
        for generation in generations_in(folder):
            _remove_generation(generation)
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


def _remove_generation(generation: Path) -> None:
    """Delete the files that an index writes, and the folders that are empty then. Links are not followed."""
    (generation / CHECKSUMS).unlink(missing_ok=True)  # first: a generation without it is not complete
    for parent, _, names in os.walk(generation, topdown=False):
        for name in names:
            file = Path(parent, name)
            if _FILE.fullmatch(file.relative_to(generation).as_posix()):
                file.unlink(missing_ok=True)
        with suppress(OSError):  # it has other contents
            Path(parent).rmdir()

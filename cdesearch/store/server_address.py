"""Where the server of an index listens: one private folder for each user, with a socket for each index.

A command finds the server of an index without a configuration: the name of the socket is a hash of the real path of
the index folder, or of its address in a bucket. Beside the socket is a small JSON file about the server. The folder
must belong to this user, and nobody else may enter it. So another user can neither pose as the server nor ask it.

Windows has no such sockets in Python. There the server listens on a port of the loopback interface, and the JSON file
contains the address and a token that every request must show.
"""

import json
import os
import stat
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import msgspec

from cdesearch.errors import IndexStateError, StorageError
from cdesearch.store.folder import replace_file
from cdesearch.store.guard import read_small
from cdesearch.store.place import Place

MAX_SOCKET_PATH = 103  # bytes; 107 on Linux
START_SECONDS = 20  # in which a server listens, even if its disk is slow; its model may load longer
HASH_LETTERS = 24  # of the name of an index


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """The facts about the server of one index that its users need."""

    pid: Annotated[int, msgspec.Meta(gt=0)]
    version: str  # of cdesearch
    name: str  # of the index, as the server calls it
    address: str  # of the HTTP interface, such as "http://127.0.0.1:7878/"; empty if it listens on its socket alone
    socket: str | None = None  # its absolute path; None on Windows
    token: str | None = None  # that requests to the address must show; stored only on Windows


def runtime_folder() -> Path:
    """The folder of the sockets, which may not exist yet: in $XDG_RUNTIME_DIR, else in the temporary folder.

    A folder whose sockets would have too long a path is not used.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "run"
    configured = os.environ.get("XDG_RUNTIME_DIR", "")
    own = f"cdesearch-{os.getuid()}"
    candidates = (Path(configured) / "cdesearch", Path(os.environ.get("TMPDIR", "")) / own)
    for folder in candidates:
        length = len(os.fsencode(folder)) + len("/.sock") + HASH_LETTERS
        if folder.is_absolute() and folder.parent.is_dir() and length <= MAX_SOCKET_PATH:
            return folder
    return Path("/tmp") / own


def _path(suffix: str, index: Place) -> Path:
    real = os.path.normcase(os.path.realpath(index)) if isinstance(index, Path) else str(index)
    return runtime_folder() / f"{blake2b(os.fsencode(real), digest_size=HASH_LETTERS // 2).hexdigest()}{suffix}"


# The paths of the socket of the server for an index, whether or not one runs, of the file in which it describes itself,
# of its log if it runs in the background, and of the log of a build or update in the background.
socket_of, record_of, log_of, update_log_of = (
    partial(_path, suffix) for suffix in (".sock", ".json", ".log", ".update.log")
)


def make_runtime_folder() -> Path:
    """The folder of the sockets, made if it is missing; raises StorageError unless it is private."""
    folder = runtime_folder()
    try:
        folder.mkdir(mode=0o700, parents=sys.platform == "win32", exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {folder} for the sockets of servers cannot be made ({error.strerror}).",
            "Set XDG_RUNTIME_DIR to a folder of your own.",
        ) from None
    if not is_private(folder):
        raise StorageError(
            f"{folder} is not a folder that only you can enter, so no server can listen there.",
            f"Run `chmod 700 {folder}` if it is yours, or set XDG_RUNTIME_DIR to a folder of your own.",
        )
    return folder


def is_private(folder: Path) -> bool:
    """Whether this is a folder of this user, not a link, that nobody else can enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    # On Windows the profile of a user is closed to others.
    is_closed = sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    return stat.S_ISDIR(found.st_mode) and is_closed


def write_record(index: Place, record: ServerRecord) -> None:
    """Store what `read_record` reads; only this user can read it. Raises StorageError and OSError."""
    make_runtime_folder()
    replace_file(record_of(index), json.dumps(asdict(record)))


def read_record(index: Place) -> ServerRecord | None:
    """What the server of an index says about itself; None if there is none, or if its folder is not private.

    The server may have been killed since.
    """
    file = record_of(index)
    if not is_private(file.parent):
        return None
    try:
        return msgspec.json.decode(read_small(file), type=ServerRecord)
    except (OSError, IndexStateError, ValueError, msgspec.MsgspecError, RecursionError):
        return None  # a record that cannot be read is that of no server


def is_starting(index: Place) -> bool:
    """Whether a server in the background has been started for this index and has not said yet that it listens."""
    try:
        found = log_of(index).stat()
    except OSError:
        return False
    return found.st_size == 0 and time.time() - found.st_mtime < START_SECONDS


def remove_record(index: Place) -> None:
    """Remove what `write_record` stored, if it is there."""
    with suppress(OSError):
        record_of(index).unlink()

"""What protects against the index of a stranger, which may come from an archive or a cloned repository.

Links    Nothing of an index is read, written or removed through a symbolic link, and it holds plain files only.
Sizes    A small file is read only up to a limit.
Tables   Lance reads from any address that a manifest names: a cloned table keeps its data elsewhere, in base paths
         that may be `s3://...`. With a forged one a query would connect to the network. Lance cannot forbid that, so a
         table must hold its data in its own folder.

`trust` asks the user to confirm a model, folders outside, and an index of another user; `manifest` lets sources be
inside the root only. What the system refuses to read now is never called damage.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cdesearch.errors import (
    CdesearchError,
    IndexDamagedError,
    IndexStateError,
    IndexUnreadableError,
    IndexUntrustedError,
)
from cdesearch.store.filesystem import is_link, refusal, refusal_of
from cdesearch.store.layout import MARKER, index_of, lost_settings_remedy, repair_command
from cdesearch.store.place import absolute

MAX_SMALL_FILE = 64_000  # bytes; CURRENT and the marker have a few
TABLES = "tables"  # LanceDB's folder in a generation
NAMES = {"chunks.lance", "documents.lance", "first_stage.lance"}
MAX_BYTES = 1 << 22  # of one manifest, which has some 150 bytes for each data file
MAGIC = b"LANC"
FOOTER = 16  # bytes: the offset of the manifest's message, its version, and the magic
BASE_PATHS = 18  # the field of Lance's message Manifest


def unreadable(file: Path, error: BaseException) -> IndexStateError:
    """The error for a file of an index that cannot be read; what the system refuses now is not reported as damage."""
    number = refusal_of(error)
    if number is None:
        reason = getattr(error, "strerror", None) or error
        return IndexDamagedError(f"{file} cannot be read ({reason}).", lost_settings_remedy(index_of(file)))
    reason, remedy = refusal(number)
    return IndexUnreadableError(f"{file} cannot be read ({reason}).", remedy)


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Replace an error of the block by an IndexUnreadableError if the system refuses to read `file` now.

    Everything of an index is read in such a block, also by libraries, whose errors are otherwise taken for damage.
    """
    try:
        yield
    except CdesearchError:
        raise
    except BaseException as error:  # a panic of a Rust library is not an Exception
        if refusal_of(error) is None:
            raise
        raise unreadable(file, error) from error


def check_enterable(folder: Path) -> None:
    """Raise IndexUnreadableError if `folder` cannot be entered or reached, for example for lack of a permission."""
    with suppress(OSError), reading(absolute(folder)):  # an OSError: it does not exist, or is not a folder
        (folder / MARKER).lstat()  # works without the permission to list the folder


def check_not_linked(path: Path) -> None:
    """Raise IndexUntrustedError if `path`, an index folder or a part of one, is a symbolic link or a junction."""
    try:
        found = path.lstat()
    except OSError:
        return
    if is_link(found):
        remedy = "Name the real folder with --index DIR, or remove the link."
        index = path.parent if (path.parent / MARKER).is_file() else index_of(path / MARKER)
        if index != path:
            remedy = f"Remove the link, then run `{repair_command(index)}`."
        raise IndexUntrustedError(f"{path} is a symbolic link, which an index may not contain.", remedy)


def check_tree(folder: Path) -> None:
    """Raise IndexUntrustedError if `folder`, or anything below it, is neither a plain file nor a folder."""
    check_not_linked(folder)
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if os.name == "nt":
                        check_not_linked(Path(entry.path))
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    check_not_linked(Path(entry.path))
                    raise _not_plain(Path(entry.path))


def _not_plain(path: Path) -> IndexUntrustedError:
    return IndexUntrustedError(f"{path} is not a plain file. An index consists of plain files only.", "Remove it.")


def read_small(file: Path, limit: int = MAX_SMALL_FILE) -> bytes:
    """The content of a plain file of at most `limit` bytes; links are not followed.

    Raises OSError if there is none, IndexUnreadableError if the system cannot read it now, IndexUntrustedError for a
    link, and IndexDamagedError if it is larger.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with reading(file):
        check_not_linked(file)
        descriptor = os.open(file, flags)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise _not_plain(file)
            if found.st_size > limit:
                raise IndexDamagedError(
                    f"{file} is larger than {limit:,} bytes, the limit for such a file of an index.",
                    lost_settings_remedy(index_of(file)),
                )
            return stream.read()


def check_tables(generation: Path) -> None:
    """Check the tables of a generation before LanceDB opens them.

    Raises IndexUntrustedError if one of them names data outside its folder, or if there is a table that is not in
    NAMES. Raises IndexDamagedError if a manifest cannot be read.
    """
    tables = generation / TABLES
    with reading(tables):
        if not tables.is_dir():
            return  # opening the tables reports it
        for table in sorted(tables.iterdir()):
            if table.name not in NAMES:
                raise IndexUntrustedError(f"{table} is not a table of an index.", "Remove it.")
            for file in table.rglob("*.manifest"):
                _check(file)


def _check(file: Path) -> None:
    """Raise IndexStateError for a manifest that names data elsewhere, or that cannot be read."""
    try:
        if BASE_PATHS in _fields(_message(read_small(file, MAX_BYTES))):
            raise IndexUntrustedError(f"{file} names data outside the index.", lost_settings_remedy(index_of(file)))
    except (OSError, IndexError, ValueError) as error:
        raise IndexDamagedError(f"{file} cannot be read ({error}).", lost_settings_remedy(index_of(file))) from None


def _message(content: bytes) -> bytes:
    """The protocol buffers message in a manifest file; raises ValueError."""
    start = int.from_bytes(content[-FOOTER : 8 - FOOTER], "little")
    size = int.from_bytes(content[start : start + 4], "little")
    message = content[start + 4 : start + 4 + size]
    if content[-len(MAGIC) :] != MAGIC or len(message) != size:
        raise ValueError("it is not a manifest of Lance")
    return message


def _fields(message: bytes) -> Iterator[int]:
    """The field numbers of a protocol buffers message, in order; raises ValueError or IndexError."""
    offset = 0
    while offset < len(message):
        tag, offset = _varint(message, offset)
        wire_type = tag & 7
        if wire_type == 0:
            _, offset = _varint(message, offset)
        elif wire_type == 2:
            size, offset = _varint(message, offset)
            offset += size
        elif wire_type in (1, 5):
            offset += 8 if wire_type == 1 else 4
        else:
            raise ValueError("it has a field of an unknown wire type")
        yield tag >> 3
    if offset != len(message):
        raise ValueError("it ends in the middle of a field")


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    """The variable-length integer at `offset`, and the offset after it; raises ValueError or IndexError."""
    number = shift = 0
    while True:
        byte = message[offset]
        number |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return number & (1 << 64) - 1, offset
        if shift > 63:
            raise ValueError("a number is too long")

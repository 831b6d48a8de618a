"""Tables of an index hold their data themselves: Lance would fetch from any address that a table's manifest names.

A table that was cloned keeps its data elsewhere, in base paths that may be `s3://...`: a forged one would make a query
go to the network. Lance has no way to forbid that, so its manifests are checked before it opens them.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.folder import REBUILD, read_small

TABLES = "tables"  # the folder of LanceDB in a generation
NAMES = {"chunks.lance", "documents.lance", "own_vectors.lance"}
MAX_BYTES = 1 << 22  # of one manifest; each file of data takes some 150
# Fields of all manifests together: each file of data is one, in each version of the table. A finished generation has
# merged its files and dropped its old versions. An unfinished one commits every 1,024 chunks, and keeps all versions.
MOST_FIELDS = 200_000
MOST_FIELDS_UNFINISHED = 20_000_000
MAGIC = b"LANC"
FOOTER = 16  # bytes: where the manifest begins, its version, and the magic
BASE_PATHS = 18  # the field of Lance's message Manifest


def check_tables(generation: Path, names: Collection[str] = NAMES, most_fields: int = MOST_FIELDS) -> None:
    """Check the tables `names`, the folders of LanceDB, before it opens them.

    Raises IndexUntrustedError where a table names data outside its folder, or where any table is none of ours, and
    IndexDamagedError where a manifest cannot be read, or where all of them have more than `most_fields`.
    """
    tables = generation / TABLES
    if not tables.is_dir():
        return  # whoever opens them says so
    for table in tables.iterdir():
        if table.name not in NAMES:
            raise IndexUntrustedError(f"{table} is not a table of an index.", "Remove it.")
    for table in sorted(tables.iterdir()):
        for file in table.rglob("*.manifest") if table.name in names else ():
            most_fields -= _check(file, most_fields)


def _check(file: Path, most_fields: int) -> int:
    """How many fields the manifest has; raises IndexStateError."""
    count = 0
    try:
        for field in _fields(_message(read_small(file, MAX_BYTES))):
            count += 1
            if field == BASE_PATHS:
                raise IndexUntrustedError(f"{file} names data outside the index.", REBUILD)
            if count > most_fields:
                raise ValueError("the manifests have too many fields")
    except (OSError, IndexError, ValueError) as error:
        raise IndexDamagedError(f"{file} cannot be read ({error}).", REBUILD) from None
    return count


def _message(content: bytes) -> bytes:
    """The manifest's message in its file; raises ValueError."""
    start = int.from_bytes(content[-FOOTER : 8 - FOOTER], "little")
    size = int.from_bytes(content[start : start + 4], "little")
    message = content[start + 4 : start + 4 + size]
    if content[-len(MAGIC) :] != MAGIC or len(message) != size:
        raise ValueError("it is not a manifest of Lance")
    return message


def _fields(message: bytes) -> Iterator[int]:
    """Numbers of the fields of a protocol buffers message; raises ValueError or IndexError."""
    place = 0
    while place < len(message):
        tag, place = _number(message, place)
        kind = tag & 7
        if kind == 0:
            _, place = _number(message, place)
        elif kind == 2:
            size, place = _number(message, place)
            place += size
        elif kind in (1, 5):
            place += 8 if kind == 1 else 4
        else:
            raise ValueError("its fields cannot be told apart")
        yield tag >> 3
    if place != len(message):
        raise ValueError("it ends in the middle of a field")


def _number(message: bytes, place: int) -> tuple[int, int]:
    """A varint and the place behind it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number & (1 << 64) - 1, place
        if shift > 63:
            raise ValueError("a number is too long")

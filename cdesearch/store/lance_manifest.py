"""Check Lance's manifests before it opens a table: it would read from any address that a manifest names.

A cloned table keeps its data elsewhere, in base paths that may be `s3://...`. With a forged one a query would connect
to the network. Lance cannot forbid that, so a table must hold its data in its own folder.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.folder import index_of, lost_settings_remedy, read_small, reading

TABLES = "tables"  # LanceDB's folder in a generation
NAMES = {"chunks.lance", "documents.lance", "own_vectors.lance"}
MAX_BYTES = 1 << 22  # of one manifest, which has some 150 bytes for each data file
# Fields of all manifests together: one for each data file, in each version of the table. A finished generation has
# merged its files and dropped its old versions. An unfinished one commits every 1,024 chunks and keeps all versions.
MAX_FIELDS = 200_000
MAX_FIELDS_UNFINISHED = 20_000_000
MAGIC = b"LANC"
FOOTER = 16  # bytes: the offset of the manifest's message, its version, and the magic
BASE_PATHS = 18  # the field of Lance's message Manifest


def check_tables(generation: Path, names: Collection[str] = NAMES, max_fields: int = MAX_FIELDS) -> None:
    """Check the tables `names`, such as "chunks.lance", before LanceDB opens them.

    Raises IndexUntrustedError if one of them names data outside its folder, or if there is a table that is not in
    NAMES. Raises IndexDamagedError if a manifest cannot be read, or if they have more than `max_fields` together.
    """
    tables = generation / TABLES
    with reading(tables):
        if not tables.is_dir():
            return  # opening the tables reports it
        for table in tables.iterdir():
            if table.name not in NAMES:
                raise IndexUntrustedError(f"{table} is not a table of an index.", "Remove it.")
        for table in sorted(tables.iterdir()):
            for file in table.rglob("*.manifest") if table.name in names else ():
                max_fields -= _check(file, max_fields)


def _check(file: Path, max_fields: int) -> int:
    """How many fields the manifest has; raises IndexStateError."""
    count = 0
    try:
        for field in _fields(_message(read_small(file, MAX_BYTES))):
            count += 1
            if field == BASE_PATHS:
                raise IndexUntrustedError(f"{file} names data outside the index.", lost_settings_remedy(index_of(file)))
            if count > max_fields:
                raise ValueError("the manifests have too many fields")
    except (OSError, IndexError, ValueError) as error:
        raise IndexDamagedError(f"{file} cannot be read ({error}).", lost_settings_remedy(index_of(file))) from None
    return count


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

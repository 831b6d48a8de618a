"""The file of checksums of a generation: size, time of change and SHA-256 of each of its files, written last.

The file also holds a digest of itself. `cdesearch.store.damage` compares the checksums with the files.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Annotated

import msgspec

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.filesystem import put_in_place
from cdesearch.store.guard import read_small, reading
from cdesearch.store.layout import CHECKSUMS, PLAN

MANIFEST = "manifest.json"
MAX_BYTES = 16_000_000  # of the file of checksums: 100,000 files
SMALL = 256_000  # bytes; an update hashes such files again, and keeps the known checksum of a larger file


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """The checksum of one file."""

    size: Annotated[int, msgspec.Meta(ge=0)]
    mtime_ns: int
    sha256: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]


Checksums = dict[str, Entry]  # by path relative to the generation, "/" between parts

# Other characters may make a path absolute, or have another meaning on another system: "C:x", "..\\x", a NUL.
_NAME = re.compile(r"(?!\.\.?(/|$))[^/\\:\x00-\x1f\x7f\ud800-\udfff]+")
_PATH = re.compile(rf"{_NAME.pattern}(/{_NAME.pattern})*")


class _Stored(msgspec.Struct):
    files: Checksums


class ChecksumsError(ValueError):
    """The file of checksums is missing or is not as it was written. The message is a predicate: "is missing"."""


def write_checksums(generation: Path, base: Path | None) -> None:
    """Record every file of a finished generation, flushed to disk.

    Large files that are hard links to files of the generation `base` are not read again.
    """
    fresh = generation / f"{CHECKSUMS}.new"
    fresh.unlink(missing_ok=True)  # left by a run that was killed while it wrote
    try:
        known = read_checksums(base) if base else {}
    except ChecksumsError:
        known = {}
    checksums: Checksums = {}
    for file in generation.rglob("*"):
        name, status = file.relative_to(generation).as_posix(), file.lstat()
        if file.is_dir() or name in (CHECKSUMS, PLAN) or not _PATH.fullmatch(name):  # an index has no such files
            continue
        before = known.get(name)
        stamp = status.st_size, status.st_mtime_ns
        is_known = before is not None and stamp == (before.size, before.mtime_ns) and before.size > SMALL
        checksums[name] = before if before and is_known else Entry(*stamp, sha256_of(file))
    with fresh.open("wb") as stream:
        stream.write(_serialised(checksums))
        stream.flush()
        os.fsync(stream.fileno())
    put_in_place(fresh, generation / CHECKSUMS)


def read_checksums(generation: Path) -> Checksums:
    """What `write_checksums` wrote; raises ChecksumsError if it is missing or if one byte of it has changed.

    Raises IndexUnreadableError if the system cannot read it now.
    """
    try:
        with reading(generation / CHECKSUMS):
            return parse_checksums(read_small(generation / CHECKSUMS, MAX_BYTES))
    except FileNotFoundError:
        raise ChecksumsError("is missing") from None
    except OSError as error:
        raise ChecksumsError(f"cannot be read ({error.strerror})") from None
    except (IndexDamagedError, IndexUntrustedError):
        raise ChecksumsError(f"is larger than {MAX_BYTES:,} bytes, or is not a plain file") from None


def parse_checksums(content: bytes) -> Checksums:
    """The checksums in the content of their file; raises ChecksumsError if one byte of it has changed."""
    try:
        files = msgspec.json.decode(content, type=_Stored).files
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise ChecksumsError("has other content than was written") from None
    if not all(map(_PATH.fullmatch, files)) or content != _serialised(files):
        raise ChecksumsError("has other content than was written")
    return files


def _serialised(checksums: Checksums) -> bytes:
    """JSON with all entries and a digest of them."""
    files = b",\n".join(
        msgspec.json.encode(name) + b": " + msgspec.json.encode(entry) for name, entry in sorted(checksums.items())
    )
    return b'{"sha256": "%b",\n"files": {\n%b\n}}\n' % (hashlib.sha256(files).hexdigest().encode(), files)


def sha256_of(file: Path) -> str:
    """The SHA-256 digest of a file in hexadecimal; raises OSError."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

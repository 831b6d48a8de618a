"""The file of checksums of a generation: size, time of change and SHA-256 of each of its files, written last.

The file also holds a digest of itself. `cdesearch.store.damage` compares the checksums with the files.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexUntrustedError
from cdesearch.store.filesystem import put_in_place
from cdesearch.store.folder import CHECKSUMS, PLAN, read_small, reading

MANIFEST = "manifest.json"
MAX_BYTES = 16_000_000  # of the file of checksums: 100,000 files
SMALL = 256_000  # bytes; an update hashes such files again, and keeps the known checksum of a larger file


@dataclass(frozen=True, slots=True)
class Entry:
    """The checksum of one file."""

    size: int
    mtime_ns: int
    sha256: str


Checksums = dict[str, Entry]  # by path relative to the generation, "/" between parts

# Other characters may make a path absolute, or have another meaning on another system: "C:x", "..\x", a NUL.
_NAME = re.compile(r"(?!\.\.?(/|$))[^/\\:\x00-\x1f\x7f\ud800-\udfff]+")
_PATH = re.compile(rf"{_NAME.pattern}(/{_NAME.pattern})*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 63


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
    for name, status in _files(generation):
        if name in (CHECKSUMS, PLAN) or not _PATH.fullmatch(name):  # an index has no such files
            continue
        before = known.get(name)
        entry = Entry(status.st_size, status.st_mtime_ns, before.sha256 if before else "")
        is_known = entry == before and entry.size > SMALL
        checksums[name] = entry if is_known else replace(entry, sha256=sha256_of(generation / name))
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
            if not stat.S_ISREG((generation / CHECKSUMS).lstat().st_mode):
                raise ChecksumsError("is not a plain file")
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
        files = json.loads(content)["files"]
        checksums = {_checked_path(name): _checked_entry(*values) for name, values in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ChecksumsError("has other content than was written") from None
    if content != _serialised(checksums):
        raise ChecksumsError("has other content than was written")
    return checksums


def _checked_path(name: str) -> str:
    """The path `name`; raises ValueError unless it is inside the generation on every system."""
    if not _PATH.fullmatch(name):
        raise ValueError("a path is outside the generation")
    return name


def _checked_entry(size: object, mtime_ns: object, sha256: object) -> Entry:
    """The entry with these values; raises ValueError for a value that no file can have."""
    if type(size) is not int or not 0 <= size < _LARGEST:
        raise ValueError("a size is not a number of bytes")
    if type(mtime_ns) is not int or not -_LARGEST <= mtime_ns < _LARGEST:
        raise ValueError("a time is not a number of nanoseconds")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("a checksum is not a SHA-256 digest")
    return Entry(size, mtime_ns, sha256)


def _serialised(checksums: Checksums) -> bytes:
    """JSON with all entries and a digest of them."""
    values = {name: [entry.size, entry.mtime_ns, entry.sha256] for name, entry in sorted(checksums.items())}
    files = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    digest = hashlib.sha256(files.encode()).hexdigest()
    return f'{{"sha256": "{digest}",\n"files": {{\n{files}\n}}}}\n'.encode()


def _files(generation: Path) -> Iterable[tuple[str, os.stat_result]]:
    for folder, _, names in os.walk(generation):
        for name in names:
            file = Path(folder) / name
            yield file.relative_to(generation).as_posix(), file.lstat()


def sha256_of(file: Path) -> str:
    """The SHA-256 digest of a file in hexadecimal; raises OSError."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

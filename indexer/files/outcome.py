"""The outcome of one file, which is read, skipped or ignored, and how its path is shown."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from cdesearch.store.filesystem import relative_posix
from cdesearch.terminal import counted
from indexer.files.opening import NOT_REGULAR, open_regular
from indexer.files.text_start import SNIFFED, WITHOUT_TEXT, is_key, reads_as_text
from indexer.formats.format import suffix_of
from indexer.formats.registry import format_of

UNKNOWN_FORMAT = "unknown format"
LATEST = 2**63 - 1  # the largest time in ns that a table holds: the year 2262. File systems allow later ones.
LITERAL_ESCAPE = re.compile(r"\\(?=x[0-9a-f]{2})")  # in a file name; it looks like the escape of a byte
MOST_COMPRESSED = 1_000  # no file system compresses text as much


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read."""

    location: str  # absolute; not a Path, of which a folder of 100,000 files would need as many
    path: str  # relative to the root, "/" between parts, always valid UTF-8
    size: int
    mtime_ns: int
    top: Path | None = None  # the folder that was walked, below which links are not followed; None for a named file
    is_wanted: bool = False  # whether the user named it, so that it is read although a program has written it
    ctime_ns: int | None = None  # of the last change of contents or attributes, which no program can set

    @property
    def file(self) -> Path:
        """Where the file is."""
        return Path(self.location)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a folder ("/" at its end), that should have been read and was not, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file, or a folder ("/" at its end), that is not meant to be read, and the rule that excludes it."""

    path: str
    rule: str


Found = Source | Skipped | Ignored


def portable(file: Path, root: Path) -> str:
    """`file` relative to `root` as valid UTF-8; other bytes become escapes such as `\\xff`. Names stay distinct."""
    return as_utf8(relative_posix(str(file), str(root)))


def as_utf8(name: str) -> str:
    """A name as valid UTF-8, with escapes for other bytes."""
    if "\\" in name:
        name = LITERAL_ESCAPE.sub(r"\\x5c", name)
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_sparse(found: os.stat_result) -> bool:
    """Whether a file consists of holes, which take hours to read and contain no text."""
    blocks: int | None = getattr(found, "st_blocks", None)  # of 512 bytes; Windows has none
    return blocks is not None and blocks * 512 * MOST_COMPRESSED < found.st_size


def file_outcome(
    location: str, path: str, found: os.stat_result, max_bytes: int, top: Path | None = None
) -> Source | Skipped:
    """The outcome for a file that no rule excludes.

    `location` is its absolute path, `path` is shown to users, and `top` is the folder of the walk.
    """
    if not stat.S_ISREG(found.st_mode):
        return Skipped(path, NOT_REGULAR)
    if found.st_size > max_bytes and not format_of(Path(location).name).streams:
        return Skipped(path, f"larger than {_size(max_bytes)} (--max-file-size)")
    if found.st_size > max_bytes and _is_sparse(found):
        return Skipped(path, "a sparse file: almost nothing of it is on the disk")
    mtime_ns, ctime_ns = found.st_mtime_ns, found.st_ctime_ns
    if not (-LATEST <= mtime_ns <= LATEST and -LATEST <= ctime_ns <= LATEST):
        mtime_ns, ctime_ns = (max(-LATEST, min(time, LATEST)) for time in (mtime_ns, ctime_ns))
    return Source(location, path, found.st_size, mtime_ns, top, False, ctime_ns)


def reason_of(error: OSError) -> str:
    """The reason for which a file or folder cannot be opened, as it is shown to users."""
    return (error.strerror or "cannot be opened").lower()


def unknown_outcome(name: str, shown: str, size: int, location: str, top: Path) -> Found | None:
    """The outcome for a file whose name no format lists; None for text, which is read. Raises OSError."""
    suffix = suffix_of(name)
    if suffix in WITHOUT_TEXT:
        return Ignored(shown, f"{WITHOUT_TEXT[suffix]} ({suffix})")
    if not suffix and not size:
        return None
    with open_regular(Path(location), top) as stream:
        if suffix:
            is_text = reads_as_text(stream, name, size)
            return None if is_text else Skipped(shown, f"{UNKNOWN_FORMAT} {as_utf8(suffix)}")
        start = stream.read(SNIFFED)
    if is_key(start):
        return Ignored(shown, "key or certificate")
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    return Ignored(shown, "binary file without suffix") if b"\0" in start and not is_utf16 else None


def _size(n_bytes: int) -> str:
    """A number of bytes with a suitable unit, such as "20 MB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.12g} {name}"
    return counted(n_bytes, "byte")

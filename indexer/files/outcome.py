"""The outcome of one file, which is read, skipped or ignored; one of an unknown kind is read if its start is text."""

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdesearch.builders import UnreadFile
from cdesearch.store.filesystem import relative_posix
from cdesearch.store.opening import NOT_REGULAR, open_regular
from indexer.formats.format import GeneratedError, UnreadableError, suffix_of
from indexer.formats.registry import format_of
from indexer.formats.unknown import check_text, rule_without_text

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
class Ignored:
    """A file, or a folder ("/" at its end), that is not meant to be read, and the rule that excludes it."""

    path: str
    rule: str


Found = Source | UnreadFile | Ignored


def portable(file: Path, root: Path) -> str:
    """`file` relative to `root` as valid UTF-8; other bytes become escapes such as `\\xff`. Names stay distinct."""
    return as_utf8(relative_posix(str(file), str(root)))


def as_utf8(name: str) -> str:
    """A name as valid UTF-8, with escapes for other bytes."""
    if "\\" in name:
        name = LITERAL_ESCAPE.sub(r"\\x5c", name)
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def file_outcome(
    location: str, path: str, found: os.stat_result, max_bytes: int, top: Path | None = None
) -> Source | UnreadFile:
    """The outcome for a file that no rule excludes.

    `location` is its absolute path, `path` is shown to users, and `top` is the folder of the walk.
    """
    if not stat.S_ISREG(found.st_mode):
        return UnreadFile(path, NOT_REGULAR)
    if found.st_size > max_bytes and not _is_streamed(Path(location), top):
        return UnreadFile(path, f"larger than {max_bytes / 1e6:g} MB (--max-file-size)")
    blocks: int | None = getattr(found, "st_blocks", None)  # of 512 bytes; Windows has none
    if found.st_size > max_bytes and blocks is not None and blocks * 512 * MOST_COMPRESSED < found.st_size:
        return UnreadFile(path, "a sparse file: almost nothing of it is on the disk")
    mtime_ns, ctime_ns = found.st_mtime_ns, found.st_ctime_ns
    if not (-LATEST <= mtime_ns <= LATEST and -LATEST <= ctime_ns <= LATEST):
        mtime_ns, ctime_ns = (max(-LATEST, min(time, LATEST)) for time in (mtime_ns, ctime_ns))
    return Source(location, path, found.st_size, mtime_ns, top, False, ctime_ns)


def _is_streamed(file: Path, top: Path | None) -> bool:
    """Whether a file is read piece by piece, as its name says or else its first bytes."""
    with suppress(OSError), open_regular(file, top) as stream:
        return format_of(file.name, stream).streams
    return format_of(file.name).streams


def reason_of(error: OSError) -> str:
    """The reason for which a file or folder cannot be opened, as it is shown to users."""
    return (error.strerror or "cannot be opened").lower()


def unknown_outcome(name: str, shown: str, size: int, location: str, top: Path) -> Found | None:
    """The outcome for a file whose name no format lists; None for text and mail, which are read. Raises OSError."""
    if rule := rule_without_text(name):
        return Ignored(shown, rule)
    if not size and not suffix_of(name):
        return None
    with open_regular(Path(location), top) as stream:
        try:
            check_text(stream, name, size)
        except GeneratedError as error:
            return Ignored(shown, str(error))
        except UnreadableError as error:
            return UnreadFile(shown, as_utf8(str(error)))
    return None

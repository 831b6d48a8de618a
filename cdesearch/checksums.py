"""Checksums of a generation: written when it is finished, and compared with its files before they are read."""

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import RLock

from cdesearch.errors import CdesearchError, IndexDamagedError, IndexStateError
from cdesearch.index_folder import CHECKSUMS, PLAN, read_small

MANIFEST = "manifest.json"
VERSIONS = "_versions"  # LanceDB opens the newest file that it finds in this folder

# The smallest files, up to so many bytes in all, are hashed whenever an index is opened: 64 MB take some 60 ms of one
# core, beside the loading of the model. That is every file of an index of up to 20,000 chunks.
HASHED_ON_OPENING = 64_000_000
MAX_BYTES = 16_000_000  # of the file of checksums: 100,000 files
SMALL = 256_000  # an update hashes such files anew; of larger ones it takes over the known checksum


@dataclass(frozen=True, slots=True)
class Entry:
    """One file as it was written."""

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as it was written; `file` is relative to the generation."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file} {self.reason}"


Checksums = dict[str, Entry]  # by path relative to the generation, "/" between parts
Chosen = Callable[[str, Entry, os.stat_result], bool]  # whether a file is hashed

# Other characters may make a path absolute, or mean another thing on another system: "C:x", "..\x", a NUL.
_NAME = re.compile(r"(?!\.\.?(/|$))[^/\\:\x00-\x1f\x7f\ud800-\udfff]+")
_PATH = re.compile(rf"{_NAME.pattern}(/{_NAME.pattern})*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 63


class ChecksumsError(ValueError):
    """The file of checksums is missing or is not as it was written; the text says how."""


def write_checksums(generation: Path, base: Path | None) -> None:
    """Record every file of a finished generation, flushed to disk.

    Large files that are links to those of the generation `base` are not read again.
    """
    fresh = generation / f"{CHECKSUMS}.new"
    fresh.unlink(missing_ok=True)  # of a run that was killed while it wrote
    try:
        known = read_checksums(base) if base else {}
    except ChecksumsError:
        known = {}
    checksums: Checksums = {}
    for name, status in _files(generation):
        if name in (CHECKSUMS, PLAN) or not _PATH.fullmatch(name):  # ours have no such names
            continue
        before = known.get(name)
        entry = Entry(status.st_size, status.st_mtime_ns, before.sha256 if before else "")
        is_known = entry == before and entry.size > SMALL
        checksums[name] = entry if is_known else replace(entry, sha256=_sha256(generation / name))
    with fresh.open("wb") as stream:
        stream.write(_serialised(checksums))
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(generation / CHECKSUMS)


def read_checksums(generation: Path) -> Checksums:
    """What `write_checksums` wrote; raises ChecksumsError where it is missing or one byte of it is another."""
    try:
        if not stat.S_ISREG((generation / CHECKSUMS).lstat().st_mode):
            raise ChecksumsError("is not a plain file")
        content = read_small(generation / CHECKSUMS, MAX_BYTES)
        files = json.loads(content)["files"]
        checksums = {_checked_path(name): _checked_entry(*values) for name, values in files.items()}
        if content != _serialised(checksums):
            raise ChecksumsError("has other content than was written")
    except FileNotFoundError:
        raise ChecksumsError("is missing") from None
    except OSError as error:
        raise ChecksumsError(f"cannot be read ({error.strerror})") from None
    except IndexStateError:
        raise ChecksumsError(f"is larger than {MAX_BYTES:,} bytes, or is not a plain file") from None
    except ChecksumsError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ChecksumsError("has other content than was written") from None
    return checksums


def _checked_path(name: str) -> str:
    """A path that stays inside the generation on every system; raises ValueError."""
    if not _PATH.fullmatch(name):
        raise ValueError("a path leads elsewhere")
    return name


def _checked_entry(size: object, mtime_ns: object, sha256: object) -> Entry:
    """Raises ValueError for a value that no file has."""
    if type(size) is not int or not 0 <= size < _LARGEST:
        raise ValueError("a size is not a number of bytes")
    if type(mtime_ns) is not int or not -_LARGEST <= mtime_ns < _LARGEST:
        raise ValueError("a time is not a number of nanoseconds")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("a checksum is not a SHA-256 digest")
    return Entry(size, mtime_ns, sha256)


def _serialised(checksums: Checksums) -> bytes:
    """JSON that holds a digest of itself."""
    values = {name: [entry.size, entry.mtime_ns, entry.sha256] for name, entry in sorted(checksums.items())}
    files = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    digest = hashlib.sha256(files.encode()).hexdigest()
    return f'{{"sha256": "{digest}",\n"files": {{\n{files}\n}}}}\n'.encode()


class Checks:
    """Compares the files of one open generation with its checksums. Threads may share it."""

    def __init__(self, folder: Path, generation: Path) -> None:
        self._folder = folder
        self._generation = generation
        self._lock = RLock()
        self._sound: set[str] = set()
        self._are_tables_sound = False

    @cached_property
    def expected(self) -> Checksums:
        """What every file must be; raises IndexDamagedError."""
        try:
            return read_checksums(self._generation)
        except ChecksumsError as error:
            raise self._error([Damage(CHECKSUMS, str(error))]) from None

    def require(self, file: str) -> None:
        """Raise IndexDamagedError unless this file is as it was written."""
        with self._lock:
            if file not in self._sound:
                self._require({file: self.expected[file]} if file in self.expected else {}, lambda *_: True)
                self._sound.add(file)

    def require_tables(self) -> None:
        """Raise IndexDamagedError where a file is missing, of another size, or, as far as is cheap, of other content.

        Hashed are the smallest files, up to HASHED_ON_OPENING bytes, and those whose time of change is another. Where
        the manifest's is another too the index has been copied, and times say nothing.
        """
        with self._lock:
            if self._are_tables_sound:
                return
            cheap = _cheap(self.expected)
            manifest = self.expected.get(MANIFEST)
            is_copied = manifest is None or (self._generation / MANIFEST).stat().st_mtime_ns != manifest.mtime_ns
            cheap -= self._sound
            self._require(self.expected, lambda n, e, s: n in cheap or (s.st_mtime_ns != e.mtime_ns and not is_copied))
            self._are_tables_sound = True

    def require_all_changed(self) -> None:
        """As `require_tables`, and every file whose time of change is another is hashed: a build relies on it."""
        cheap = _cheap(self.expected)
        self._require(self.expected, lambda n, e, s: n in cheap or s.st_mtime_ns != e.mtime_ns)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn an error into an IndexDamagedError where a file of the generation turns out to be damaged."""
        try:
            yield
        except CdesearchError:
            raise
        except BaseException as error:
            if isinstance(error, Exception) or is_panic(error):
                self._require(self.expected, lambda *_: True)
            raise

    def _require(self, checksums: Checksums, hashed: Chosen) -> None:
        damages = list(find_damage(self._generation, checksums, hashed))
        if damages:
            raise self._error(damages)

    def _error(self, damages: list[Damage]) -> IndexDamagedError:
        more = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        return IndexDamagedError(
            f"The index in {self._folder} is damaged: {damages[0]}{more}.",
            f"Run `cdesearch doctor --repair --index {shlex.quote(str(self._folder))}`.",
        )


def find_damage(
    generation: Path, checksums: Checksums, hashed: Chosen, *, is_complete: bool = False
) -> Iterator[Damage]:
    """The files that are not as `checksums` say.

    Unless it `is_complete`, nothing is hashed where some files can be seen to be wrong without it.
    """
    doubtful: list[str] = []
    seen_wrong = False
    for name, entry in checksums.items():
        try:
            status = (generation / name).lstat()
        except OSError as error:
            reason = "is missing" if isinstance(error, FileNotFoundError | NotADirectoryError) else _unreadable(error)
        else:
            reason = _wrong_kind_or_size(status, entry)
            if not reason and hashed(name, entry, status):
                doubtful.append(name)
        if reason:
            seen_wrong = True
            yield Damage(name, reason)
    for name in _strange_versions(generation, checksums):
        seen_wrong = True
        yield Damage(name, "was not written by cdesearch")
    for name in [] if seen_wrong and not is_complete else doubtful:
        try:
            if _sha256(generation / name) != checksums[name].sha256:
                yield Damage(name, "has other content than was written")
        except OSError as error:
            yield Damage(name, _unreadable(error))


def is_panic(error: BaseException) -> bool:
    """Whether LanceDB's Rust code broke off; its PanicException is not an Exception, and neither can be imported."""
    return type(error).__name__ in ("RustPanic", "PanicException")


def _wrong_kind_or_size(status: os.stat_result, entry: Entry) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return "" if status.st_size == entry.size else f"has {status.st_size:,} bytes instead of {entry.size:,}"


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({error.strerror})"


def _strange_versions(generation: Path, checksums: Checksums) -> Iterator[str]:
    """Files in the folders of table versions that the checksums does not have: the newest one would be opened."""
    for folder in sorted({name.rpartition("/")[0] for name in checksums if f"/{VERSIONS}/" in name}):
        try:
            found = os.listdir(generation / folder)  # noqa: PTH208 (names are all that is needed)
        except OSError:
            continue  # its files are missing, and reported
        yield from (
            f"{folder}/{ascii(name)[1:-1]}"
            for name in sorted(found)
            if name.endswith(".manifest") and f"{folder}/{name}" not in checksums
        )


def _cheap(checksums: Checksums) -> set[str]:
    chosen: set[str] = set()
    total = 0
    for name, entry in sorted(checksums.items(), key=lambda item: item[1].size):
        total += entry.size
        if total > HASHED_ON_OPENING:
            break
        chosen.add(name)
    return chosen


def _files(generation: Path) -> Iterable[tuple[str, os.stat_result]]:
    for place, _, names in os.walk(generation):
        for name in names:
            file = Path(place) / name
            yield file.relative_to(generation).as_posix(), file.lstat()


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

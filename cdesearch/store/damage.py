"""Damage: compare the files of a generation with its checksums before they are read."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from threading import RLock
from typing import Any

from cdesearch.errors import CdesearchError, IndexDamagedError, is_panic
from cdesearch.store.checksums import MANIFEST, Checksums, ChecksumsError, Entry, read_checksums, sha256_of
from cdesearch.store.filesystem import refusal_of
from cdesearch.store.guard import reading, unreadable
from cdesearch.store.layout import CHECKSUMS, rebuild_remedy, repair_command
from cdesearch.store.place import Place

VERSIONS = "_versions"  # LanceDB opens the newest file in this folder

# The location in Rust code at the end of LanceDB's messages, which does not help a user.
_LOCATION_IN_RUST = re.compile(r",? \S+\.rs:\d+(:\d+)?$")

# The smallest files, up to this many bytes in all, are hashed whenever an index is opened. These are all files of an
# index of up to 20,000 chunks. Hashing them takes one core some 60 ms, while the model loads.
HASHED_ON_OPENING = 64_000_000

NeedsHash = Callable[[str, Entry, os.stat_result], bool]  # whether the content of a file must be compared


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as it was written. `file` is relative to the generation, `reason` is a predicate."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file} {self.reason}"


class Checks:
    """Compares the files of one open generation with its checksums. Threads may share it."""

    def __init__(self, place: Place, generation: Path) -> None:
        self._place = place
        self._generation = generation
        self._lock = RLock()
        self._sound: set[str] = set()
        self._are_tables_sound = False

    @cached_property
    def expected(self) -> Checksums:
        """The checksums of all files; raises IndexDamagedError."""
        try:
            return read_checksums(self._generation)
        except ChecksumsError as error:
            raise self._error([Damage(CHECKSUMS, str(error))]) from None

    def require(self, file: str) -> None:
        """Raise IndexDamagedError unless this file, relative to the generation, is as it was written."""
        with self._lock:
            if file not in self._sound:
                self._require({file: self.expected[file]} if file in self.expected else {}, lambda *_: True)
                self._sound.add(file)

    def require_tables(self) -> None:
        """Raise IndexDamagedError if a file is missing, has another size or, as far as hashed, other content.

        The smallest files, up to HASHED_ON_OPENING bytes, are hashed, and every file whose time of change differs. If
        the manifest's time differs too, the index has been copied, and times are ignored.
        """
        with self._lock:
            if self._are_tables_sound:
                return
            small = smallest(self.expected)
            manifest = self.expected.get(MANIFEST)
            is_copied = True
            with suppress(OSError):  # which is reported as damage
                is_copied = manifest is None or (self._generation / MANIFEST).stat().st_mtime_ns != manifest.mtime_ns
            small -= self._sound
            self._require(self.expected, lambda n, e, s: n in small or (s.st_mtime_ns != e.mtime_ns and not is_copied))
            self._are_tables_sound = True

    def require_all_changed(self) -> None:
        """Check as `require_tables` does, and hash every file whose time of change differs also in a copied index.

        An update links the files that have not changed into the next generation, so it must know them to be sound.
        """
        with self._lock:
            small = smallest(self.expected)
            self._require(self.expected, lambda n, e, s: n in small or s.st_mtime_ns != e.mtime_ns)
            self._are_tables_sound = True  # so that opening them does not hash the same files again

    @contextmanager
    def reporting_damage(self) -> Iterator[None]:
        """Replace an error of the block by an IndexDamagedError if a file of the generation is damaged."""
        try:
            yield
        except CdesearchError:
            raise
        except BaseException as error:
            if isinstance(error, Exception) or is_panic(error):
                self._require(self.expected, lambda *_: True)
            raise

    @contextmanager
    def reading_tables(self) -> Iterator[None]:
        """Replace an error of LanceDB or Arrow in the block, which reads tables, by an IndexDamagedError.

        Matching checksums do not exclude such errors, because a forged index can contain any data.
        """
        try:
            with self.reporting_damage():
                yield
        except BaseException as error:
            import pyarrow as pa

            known = OSError | RuntimeError | ValueError | pa.ArrowException
            if not (isinstance(error, known) or is_panic(error)):
                raise
            raise self.table_error("The tables", error) from error

    def opened(self, open_table: Callable[[], Any]) -> Any:
        """What `open_table` returns."""
        return open_table()

    def table_error(self, tables: str, error: BaseException) -> CdesearchError:
        """The error for `tables`, such as "Table chunks", that LanceDB or Arrow cannot read."""
        if refusal_of(error) is not None:
            return unreadable(self._generation, error)
        return IndexDamagedError(
            f"{tables} of {self._place} cannot be read ({reason_of(error)}).", rebuild_remedy(self._place)
        )

    def size_bytes(self) -> int:
        """The size of the generation, in bytes."""
        return sum(file.stat().st_size for file in self._generation.rglob("*") if file.is_file())

    def _require(self, checksums: Checksums, needs_hash: NeedsHash) -> None:
        damages = list(find_damage(self._generation, checksums, needs_hash))
        if damages:
            raise self._error(damages)

    def _error(self, damages: list[Damage]) -> IndexDamagedError:
        more = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        what = f"The index in {self._place} is damaged: {damages[0]}{more}."
        return IndexDamagedError(what, self._remedy())

    def _remedy(self) -> str:
        return f"Run `{repair_command(self._place)}`."


def damaged(place: Place, what: str) -> IndexDamagedError:
    """The error for an index that holds what no run has written; `what` is a clause."""
    return IndexDamagedError(f"The index in {place} is damaged: {what}.", rebuild_remedy(place))


def find_damage(
    generation: Path,
    checksums: Checksums,
    needs_hash: NeedsHash,
    *,
    is_complete: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Damage]:
    """The files that differ from `checksums`. `needs_hash` selects the files whose content is compared too.

    Unless `is_complete`, no file is hashed once a missing file or another size shows the damage. `advance` is called
    with 1 after each file that was hashed. Raises IndexUnreadableError if the system refuses to read a file now.
    """
    to_hash: list[str] = []
    has_damage = False
    for name, entry in checksums.items():
        try:
            with reading(generation / name):
                status = (generation / name).lstat()
        except OSError as error:
            reason = "is missing" if isinstance(error, FileNotFoundError | NotADirectoryError) else _unreadable(error)
        else:
            is_same = status.st_size == entry.size
            reason = "" if is_same else f"has {status.st_size:,} bytes instead of {entry.size:,}"
            reason = reason if stat.S_ISREG(status.st_mode) else "is not a plain file"
            if not reason and needs_hash(name, entry, status):
                to_hash.append(name)
        if reason:
            has_damage = True
            yield Damage(name, reason)
    for name in _unknown_versions(generation, checksums):
        has_damage = True
        yield Damage(name, "was not written by cdesearch")
    for name in [] if has_damage and not is_complete else to_hash:
        try:
            with reading(generation / name):
                is_same = sha256_of(generation / name) == checksums[name].sha256
        except OSError as error:
            yield Damage(name, _unreadable(error))
        else:
            if not is_same:
                yield Damage(name, "has other content than was written")
        advance(1)


def reason_of(error: BaseException) -> str:
    """The first line of an error's message, at most 200 characters, without a location in Rust code."""
    return _LOCATION_IN_RUST.sub("", str(error).partition("\n")[0])[:200]


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({error.strerror})"


def _unknown_versions(generation: Path, checksums: Checksums) -> Iterator[str]:
    """Versions of tables that have no checksum: LanceDB would open the newest of them."""
    for folder in sorted({name.rpartition("/")[0] for name in checksums if f"/{VERSIONS}/" in name}):
        try:
            with reading(generation / folder):
                found = os.listdir(generation / folder)  # noqa: PTH208 (names are all that is needed)
        except OSError:
            continue  # its files are reported as missing
        yield from (
            f"{folder}/{ascii(name)[1:-1]}"
            for name in sorted(found)
            if name.endswith(".manifest") and f"{folder}/{name}" not in checksums
        )


def smallest(checksums: Checksums) -> set[str]:
    """The smallest files, up to HASHED_ON_OPENING bytes in all."""
    names = sorted(checksums, key=lambda name: checksums[name].size)
    totals = accumulate(checksums[name].size for name in names)
    return {name for name, total in zip(names, totals, strict=True) if total <= HASHED_ON_OPENING}

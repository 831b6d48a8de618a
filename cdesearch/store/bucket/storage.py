"""Gives readers the live generation of an index in a bucket, whose objects are compared with its checksums."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cdesearch.errors import CdesearchError
from cdesearch.store.bucket import snapshot
from cdesearch.store.bucket.connection import lance_options
from cdesearch.store.bucket.objects import Bucket, bucket_at, repeated_if_cut
from cdesearch.store.bucket.snapshot import (
    VERSIONS,
    cache_of,
    download,
    fetch,
    object_name,
    open_newest,
    read_pointer,
)
from cdesearch.store.checksums import Checksums
from cdesearch.store.damage import Checks, Damage, NeedsHash, damaged, smallest
from cdesearch.store.guard import TABLES, check_tables
from cdesearch.store.layout import rebuild_remedy
from cdesearch.store.place import BucketAddress
from cdesearch.store.storage import Live, Storage
from cdesearch.store.write_errors import write_error

_FROM_SERVER = re.compile(r"Generic \w+ error|Error performing|status code")
_NOT_FOUND = re.compile(r"not found", re.IGNORECASE)


class BucketChecks(Checks):
    """Compares the objects of one open generation with its checksums. Threads may share it."""

    def __init__(self, bucket: Bucket, generation: Path) -> None:
        super().__init__(bucket.address, generation)
        self._bucket = bucket

    def require(self, file: str) -> None:
        """Download a file unless the cache has it as it was written; raises IndexDamagedError and BucketError."""
        with self._lock:
            if file in self._sound or file not in self.expected:
                return
            try:
                fetch(self._bucket, self._generation, file, self.expected[file])
            except OSError as error:
                raise write_error(cache_of(self._bucket.address), error) from None
            self._sound.add(file)

    def opened(self, open_table: Callable[[], Any]) -> Any:
        """What `open_table` returns, to which the connection may have ended the first time."""
        return repeated_if_cut(open_table)

    def table_error(self, tables: str, error: BaseException) -> CdesearchError:
        """The error for tables that LanceDB cannot read, although all objects are there. Its message is not shown.

        Raises IndexDamagedError if one of the smaller objects has other content. LanceDB also says that an object is
        not found if it is damaged or if the server is too busy.
        """
        text = str(error)
        if _FROM_SERVER.search(text):
            return self._bucket.error_of(error)
        for file in sorted(one for one in smallest(self.expected) if one.startswith(f"{TABLES}/")):
            with TemporaryDirectory() as scratch:
                download(self._bucket, self._generation.name, file, self.expected[file], Path(scratch, "file"))
        if _NOT_FOUND.search(text):
            return self._bucket.error_of(error)
        return damaged(self._bucket.address, f"{tables} cannot be read")

    def size_bytes(self) -> int:
        """The size of the generation, in bytes."""
        return sum(entry.size for entry in self.expected.values())

    def _remedy(self) -> str:
        return rebuild_remedy(self._place)  # there is no earlier generation to mend this one with

    def _require(self, checksums: Checksums, needs_hash: NeedsHash) -> None:  # noqa: ARG002 (no object is hashed)
        """Raise IndexDamagedError if an object is missing, has another size, or is an unknown version of a table."""
        start = object_name(self._generation.name, "")
        found = {name.removeprefix(start): item.size for name, item in self._bucket.list(start.rstrip("/")).items()}
        damages = []
        for name, entry in checksums.items():
            if name not in found:
                damages.append(Damage(name, "is missing"))
            elif found[name] != entry.size:
                damages.append(Damage(name, f"has {found[name]:,} bytes instead of {entry.size:,}"))
        damages += [
            Damage(ascii(name)[1:-1], "was not written by cdesearch")
            for name in sorted(found.keys() - checksums.keys())
            if VERSIONS in name and name.endswith(".manifest")
        ]
        if damages:
            raise self._error(damages)


class BucketStorage(Storage):
    """An index in a bucket. All methods raise BucketError."""

    def __init__(self, address: BucketAddress) -> None:
        self._bucket = bucket_at(address)

    def open(self) -> Live:
        generation = open_newest(self._bucket)
        check_tables(generation)
        tables = f"{self._bucket.address}/{object_name(generation.name, TABLES)}"
        return Live(generation, BucketChecks(self._bucket, generation), tables, lance_options(self._bucket.address))

    def newest_name(self) -> str | None:
        read, name = self._bucket.newest
        is_fresh = name and time.monotonic() < read + snapshot.FRESH_SECONDS
        return name if is_fresh else read_pointer(self._bucket)[0] or None

"""The objects of one index in a bucket: read, written, copied, listed and removed, with one error for what fails.

The messages of the libraries are not shown: the answer of a server may contain an access key.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from cdesearch.errors import BucketError
from cdesearch.store.bucket.connection import open_store
from cdesearch.store.place import BucketAddress

Answer = TypeVar("Answer")

MAX_SMALL_OBJECT = 64_000  # bytes
PAUSES = (0.1, 0.4, 1.6)  # seconds
MOST_REMOVED = 1_000  # objects that one request removes
_STATUS = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z ]*)?)")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist")
_BAD_NAME = re.compile(r'Path "(.*?)"(?: contained|: Encountered)', re.DOTALL)  # an object that the library cannot name
_CUT = re.compile(r"ListResponseBody|list response body|request or response body error")
_REASONS = {  # parts of messages in lower case, and what they mean
    "dns error": "the name of its server is unknown",
    "refused": "the connection was refused",
    "timed out": "the server did not answer in time",
    "precondition": "another run has changed it",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """What a listing says about an object."""

    size: int
    modified: datetime  # by the clock of the server


@dataclass(frozen=True, slots=True)
class Versioned:
    """The content of a small object, and the version by which it can be replaced."""

    content: bytes
    version: dict[str, str]


class Bucket:
    """The objects of one index. Names are relative to its prefix. All methods raise BucketError."""

    def __init__(self, address: BucketAddress) -> None:
        self.address = address
        self.newest = 0.0, ""  # when CURRENT was read last, and the generation that it named
        self._store = open_store(address)
        import obstore  # which is installed, because a store was opened

        self._library: Any = obstore

    def read(self, name: str, limit: int = MAX_SMALL_OBJECT) -> Versioned | None:
        """The content of a small object with its version; None if there is none of at most `limit` bytes."""
        with self._guarded():
            try:
                found = self._library.get(self._store, name)
                if found.meta["size"] > limit:
                    return None
                tags = {key: found.meta.get(key) for key in ("e_tag", "version")}
                return Versioned(bytes(found.bytes()), {key: str(tag) for key, tag in tags.items() if tag})
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

    def download(self, name: str, file: Path, size: int) -> str | None:
        """Write an object to a new file; returns the file's SHA-256 digest, or None if there is no such object.

        Of an object of another `size`, nothing is downloaded, and the digest is that of an empty file.
        """
        digest = sha256()
        with self._guarded(), file.open("xb") as written:
            try:
                found = self._library.get(self._store, name)
                for part in found.stream() if found.meta["size"] == size else ():
                    digest.update(part)
                    written.write(part)
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
        return digest.hexdigest()

    def upload(self, file: Path, name: str) -> None:
        """Write a file as an object; a large one in several parts, of which a reader sees nothing before the end."""
        with self._guarded(writes=True):
            self._library.put(self._store, name, file)

    def swap(self, name: str, content: bytes, before: Versioned | None) -> bool:
        """Replace an object if it still is `before`, or create it if `before` is None. Returns whether it was done."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = "create" if before is None else before.version
        with self._guarded(writes=True):
            try:
                self._library.put(self._store, name, content, mode=mode)
            except (AlreadyExistsError, PreconditionError):
                # An attempt whose answer was lost may have replaced it.
                found = self.read(name)
                return found is not None and found.content == content
            return True

    def copy(self, source: str, target: str) -> None:
        """Let the server copy an object."""
        with self._guarded(writes=True):
            repeated_if_cut(lambda: self._library.copy(self._store, source, target))

    def list(self, prefix: str) -> dict[str, Stored]:
        """The objects whose names start with the folder `prefix`, by name."""
        with self._guarded():
            items = repeated_if_cut(
                lambda: [item for batch in self._library.list(self._store, prefix) for item in batch]
            )
            return {item["path"]: Stored(item["size"], item["last_modified"]) for item in items}

    def is_empty(self) -> bool:
        """Whether there is no object."""
        with self._guarded():
            return repeated_if_cut(lambda: not any(map(len, self._library.list(self._store, chunk_size=1))))

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; those that do not exist are ignored."""
        found = list(names)
        with self._guarded(writes=True):
            for start in range(0, len(found), MOST_REMOVED):
                self._library.delete(self._store, found[start : start + MOST_REMOVED])

    def _check_bucket(self, error: FileNotFoundError) -> None:
        """Raise BucketError if not only the object is missing, but the bucket."""
        if _NO_BUCKET.search(str(error)):
            raise self.error_of(error) from None

    @contextmanager
    def _guarded(self, *, writes: bool = False) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # an error of a local file
                raise
            raise self.error_of(error, writes=writes) from None

    def error_of(self, error: BaseException, *, writes: bool = False) -> BucketError:
        """The error for one that a library has raised while it contacted the store."""
        text = str(error)
        if _NO_BUCKET.search(text):
            return BucketError(
                f"The bucket {self.address.bucket} of {self.address} does not exist.",
                "Check its name and the region, or make it. Your files and local copies are unchanged.",
            )
        if (bad := _BAD_NAME.search(text)) is not None:
            return BucketError(
                f"{self.address} has an object whose name is not a path: {bad[1]:.200}.",
                "Rename or remove it, or name a prefix without it.",
            )
        reason = _reason(text)
        if reason.startswith(("401", "403")):
            what = "write to" if writes else "read"
            return BucketError(
                f"You may not {what} {self.address} ({reason}).",
                "Check the credentials in your environment or profile, and the rights that they have.",
            )
        return BucketError(
            f"{self.address} cannot be {'written' if writes else 'read'} ({reason}).",
            "Check the network, the endpoint and the region, and run the same command again.",
        )


def repeated_if_cut(call: Callable[[], Answer]) -> Answer:
    """What `call` returns. It is repeated if the connection ends within an answer, which the libraries do not do."""
    for seconds in PAUSES:
        try:
            return call()
        except Exception as error:
            if not _CUT.search(str(error)):
                raise
            time.sleep(seconds)
    return call()


def _reason(text: str) -> str:
    """What went wrong: the status and code that the server has sent, or a phrase. Nothing else is taken from `text`."""
    status, code = _STATUS.search(text), _CODE.search(text)
    if status is not None:
        return f"{status[1].strip()}{f', {code[1]}' if code else ''}"
    return next((what for part, what in _REASONS.items() if part in text.lower()), "the connection failed")


@lru_cache(maxsize=64)
def bucket_at(address: BucketAddress) -> Bucket:
    """The bucket at an address, whose connections this process keeps; raises InputError and BucketError."""
    return Bucket(address)

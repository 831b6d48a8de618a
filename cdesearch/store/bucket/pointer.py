"""The object CURRENT of an index in a bucket: the name of the live generation, and of those before it."""

import time
from dataclasses import dataclass
from threading import Lock

from cdesearch.errors import BucketError, IndexDamagedError, InputError
from cdesearch.store.bucket.objects import Bucket, Versioned, bucket_at
from cdesearch.store.bucket_address import BucketAddress
from cdesearch.store.folder import CURRENT, MARK, MARKER, is_generation_name, lost_settings_remedy

FRESH_SECONDS = 5.0  # in which a process that has an index open does not ask for a newer generation again

_lock = Lock()
_read: dict[BucketAddress, tuple[float, str]] = {}  # when CURRENT was read last, and the generation that it named


@dataclass(frozen=True, slots=True)
class Pointer:
    """What CURRENT holds: one name a line."""

    generation: str  # empty if CURRENT is damaged
    before: tuple[str, ...]  # the earlier generations that may not have been removed yet, newest first
    stored: Versioned  # the object itself


def read_pointer(bucket: Bucket, *, replaces: bool = False) -> Pointer | None:
    """What CURRENT holds now; None if there is none.

    Raises BucketError, and IndexDamagedError for other content, unless the caller `replaces` it without regard to it.
    Raises InputError for other content if the objects are not those of an index.
    """
    stored = bucket.read(CURRENT)
    if stored is None:
        return None
    names = stored.content.decode("utf-8", "replace").splitlines()
    if not names or not all(map(is_generation_name, names)):
        check_marker(bucket)
        if replaces:
            return Pointer("", (), stored)
        raise IndexDamagedError(
            f"{CURRENT} of {bucket.address} does not hold the names of generations.",
            lost_settings_remedy(bucket.address.folder),
        )
    _remember(bucket.address, names[0])
    return Pointer(names[0], tuple(names[1:]), stored)


def check_marker(bucket: Bucket) -> None:
    """Raise InputError if there are objects without the marker of an index, and BucketError."""
    marker = bucket.read(MARKER)
    if marker is not None and marker.content == MARK.encode():
        return
    if not bucket.is_empty():
        raise InputError(f"{bucket.address} is not empty and is not an index.", "Choose another prefix.")
    if marker is not None:  # it was read, and no object is there: a page for logging in to a network, for example
        raise wrong_server(bucket)


def wrong_server(bucket: Bucket) -> BucketError:
    """The error for a server that answers every request with success and does not store objects."""
    return BucketError(
        f"The server of {bucket.address} does not answer as an object store does.",
        "Check the endpoint, and whether the network asks you to log in.",
    )


def newest_generation(address: BucketAddress) -> str | None:
    """The live generation as it was at most FRESH_SECONDS ago; None if there is none. Raises what reading raises."""
    with _lock:
        read, name = _read.get(address, (0.0, ""))
    if name and time.monotonic() < read + FRESH_SECONDS:
        return name
    pointer = read_pointer(bucket_at(address))
    return None if pointer is None else pointer.generation


def replace_pointer(bucket: Bucket, name: str, seen: Pointer | None, before: tuple[str, ...]) -> bool:
    """Make `name` the live generation unless CURRENT has changed since `seen`; returns whether it was done."""
    content = "".join(f"{one}\n" for one in (name, *before)).encode()
    is_done = bucket.swap(CURRENT, content, None if seen is None else seen.stored)
    if is_done:
        _remember(bucket.address, name)
    return is_done


def _remember(address: BucketAddress, name: str) -> None:
    with _lock:
        _read[address] = time.monotonic(), name

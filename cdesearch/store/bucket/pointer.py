"""The object CURRENT of an index in a bucket: the name of the live generation, and of those before it."""

import time
from dataclasses import dataclass
from threading import Lock

from cdesearch.errors import IndexDamagedError
from cdesearch.store.bucket.objects import Bucket, Versioned, bucket_at
from cdesearch.store.bucket_address import BucketAddress
from cdesearch.store.folder import CURRENT, is_generation_name, lost_settings_remedy

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
    """
    stored = bucket.read_small(CURRENT)
    if stored is None:
        return None
    names = stored.content.decode("utf-8", "replace").splitlines()
    if not names or not all(map(is_generation_name, names)):
        if replaces:
            return Pointer("", (), stored)
        raise IndexDamagedError(
            f"{CURRENT} of {bucket.address} does not hold the names of generations.",
            lost_settings_remedy(bucket.address.folder),
        )
    _remember(bucket.address, names[0])
    return Pointer(names[0], tuple(names[1:]), stored)


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

"""The object CURRENT of an index in a bucket: the name of the live generation."""

import time

from cdesearch.errors import IndexDamagedError, InputError
from cdesearch.store.bucket.objects import Bucket, Versioned
from cdesearch.store.layout import CURRENT, MARK, MARKER, is_generation_name, lost_settings_remedy

FRESH_SECONDS = 5.0  # in which a process that has an index open does not ask for a newer generation again


def read_pointer(bucket: Bucket, *, replaces: bool = False) -> tuple[str, Versioned | None]:
    """The name of the live generation now, "" if there is none, and the object that holds it.

    Raises BucketError, and IndexDamagedError for other content, unless the caller `replaces` it without regard to it.
    Raises InputError for other content if the objects are not those of an index.
    """
    stored = bucket.read(CURRENT)
    if stored is None:
        return "", None
    name = stored.content.decode("utf-8", "replace").removesuffix("\n")
    if not is_generation_name(name):
        check_marker(bucket)
        if replaces:
            return "", stored
        raise IndexDamagedError(
            f"{CURRENT} of {bucket.address} does not hold the name of a generation.",
            lost_settings_remedy(bucket.address),
        )
    bucket.newest = time.monotonic(), name
    return name, stored


def check_marker(bucket: Bucket) -> None:
    """Raise InputError if there are objects without the marker of an index, and BucketError."""
    marker = bucket.read(MARKER)
    if (marker is None or marker.content != MARK.encode()) and not bucket.is_empty():
        raise InputError(f"{bucket.address} is not empty and is not an index of this format.", "Choose another prefix.")


def newest_generation(bucket: Bucket) -> str | None:
    """The live generation as it was at most FRESH_SECONDS ago; None if there is none. Raises what reading raises."""
    read, name = bucket.newest
    return name if name and time.monotonic() < read + FRESH_SECONDS else read_pointer(bucket)[0] or None


def replace_pointer(bucket: Bucket, name: str, before: Versioned | None) -> bool:
    """Make `name` the live generation unless CURRENT is no longer `before`; returns whether it was done."""
    is_done = bucket.swap(CURRENT, f"{name}\n".encode(), before)
    if is_done:
        bucket.newest = time.monotonic(), name
    return is_done

"""Return freed memory, which the C library keeps, to the operating system."""

import ctypes
from collections.abc import Callable
from functools import cache


def release_freed_memory() -> None:
    """Return freed memory to the operating system, also between live blocks. Without glibc it does nothing."""
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim

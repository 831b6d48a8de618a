"""Memory that was freed and that the C library keeps for later."""

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Hand what is free back to the system, holes between live blocks too; nothing where the C library is not glibc."""
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim

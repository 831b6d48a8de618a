"""The errors for a file that cannot be read or is not worth reading, and the list of names in a message."""

from collections.abc import Iterable
from itertools import islice

SHOWN_NAMES = 10
SHOWN_CHARACTERS = 200


class UnreadableError(Exception):
    """A file cannot be read; the message is the reason, for the list of skipped files."""


class GeneratedError(UnreadableError):
    """A file was written by a program for programs; the message is the rule that ignores it."""


def listed(names: Iterable[object]) -> str:
    """Names from a file, joined for a message: at most SHOWN_NAMES of them and SHOWN_CHARACTERS in all."""
    first = islice(names, SHOWN_NAMES + 1)
    shown = [" ".join(str(name)[:SHOWN_CHARACTERS].split()) for name in first]
    text = ", ".join(shown[:SHOWN_NAMES])
    is_cut = len(shown) > SHOWN_NAMES or len(text) > SHOWN_CHARACTERS
    return text[:SHOWN_CHARACTERS] + (", ..." if is_cut else "")

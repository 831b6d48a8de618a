"""The progress of training as plain lines on stderr; needs no library."""

import sys
import time
from collections.abc import Callable

SECONDS = 5.0  # between two lines of one stage


class PlainLines:
    """Prints to stderr: each stage, its progress every few seconds, and notes."""

    def __init__(self) -> None:
        self._latest = 0.0

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Print the name, and the progress at most every SECONDS seconds; the result takes the number of units done."""
        self.note(name if total is None else f"{name}: {total:,}")
        self._latest = time.monotonic()
        done = 0

        def advance(n: int) -> None:
            nonlocal done
            done += n
            if self._is_due():
                self.note(f"{name}: {done:,}" if total is None else f"{name}: {done:,} of {total:,}")

        return advance

    def detail(self, text: str) -> None:
        """Print the latest numbers at most every SECONDS seconds."""
        if self._is_due():
            self.note(text)

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._latest < SECONDS:
            return False
        self._latest = now
        return True

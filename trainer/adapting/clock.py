"""How much of the time is used, over all calls that continue the same work."""

import time
from collections.abc import Callable

from cdesearch.progress import Display
from trainer.run.time_limit import TimeLimit

SAVE_SECONDS = 10.0


class Clock:
    """The time since the work was begun, without the time between calls."""

    def __init__(self, minutes: float, used: float, now: Callable[[], float] = time.monotonic) -> None:
        """`used` is in seconds, of earlier calls."""
        self._now = now
        self._total = 60 * minutes
        self._begun = now() - used

    @property
    def used(self) -> float:
        """The seconds that are used."""
        return self._now() - self._begun

    def left(self, share: float) -> float:
        """The seconds until a share of the time is used, at least 0."""
        return max(0.0, share * self._total - self.used)

    def limit(self, share: float) -> TimeLimit:
        """A limit at the moment at which a share of the time is used."""
        return TimeLimit(self._begun + share * self._total)


class SavingDisplay:
    """A display that also calls `save` every SAVE_SECONDS while progress is reported.

    The time that is used is thereby stored, and a kill gives little of it back.
    """

    def __init__(self, display: Display, save: Callable[[], object], now: Callable[[], float] = time.monotonic) -> None:
        self._display = display
        self._save = save
        self._now = now
        self._saved = now()
        self.detail = display.detail
        self.note = display.note

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage of the underlying display."""
        advance = self._display.stage(name, total)

        def advance_and_save(n: int) -> None:
            advance(n)
            if self._now() - self._saved >= SAVE_SECONDS:
                self._save()
                self._saved = self._now()

        return advance_and_save

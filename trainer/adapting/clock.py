"""How much of the time is used, over all calls that continue the same work."""

import time
from collections.abc import Callable

from trainer.run.time_limit import TimeLimit


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

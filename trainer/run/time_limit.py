"""A limit on the wall time of a run, which ends it with its state saved."""

import time
from collections.abc import Callable

import torch

from cdesearch.progress import Display
from trainer.execution.distributed import alone, is_first, total, world


class OutOfTime(Exception):  # noqa: N818 (not an error: the run continues in the next slot)
    """The time limit of the run is reached."""


class TimeLimit:
    """A point in time, in seconds of `time.monotonic`, after which a run must stop; None: never."""

    def __init__(self, end: float | None) -> None:
        self._end = end

    def check(self) -> None:
        """Raise OutOfTime after the end of the limit, in every process at the same step."""
        if self._end is None:
            return
        over = time.monotonic() >= self._end
        if world() > 1:
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            over = bool(total(torch.tensor(int(over), device=device)))
        if over:
            raise OutOfTime


NO_LIMIT = TimeLimit(None)


class LimitedDisplay:
    """A display that also checks the limit whenever progress is reported: preparation can be resumed there.

    With several processes only the first one checks it, because the others wait until it has prepared everything.
    """

    def __init__(self, display: Display, limit: TimeLimit) -> None:
        self._display = display
        self._limit = limit
        self.detail = display.detail
        self.note = display.note

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage of the underlying display."""
        advance = self._display.stage(name, total)

        def advance_in_time(n: int) -> None:
            advance(n)
            if is_first():
                with alone():
                    self._limit.check()

        return advance_in_time

"""How long a process has worked or waited, as far as that is its own doing."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MOST_STEP = 1.0  # seconds between two calls that count: with a longer gap, this process itself was suspended


@dataclass(slots=True)
class Stopwatch:
    """Measures a process from the first call of `seconds`, which must be called several times a second.

    On Linux, a process that could compute but waits for a busy core does not spend time, and neither does a process
    that is suspended. Elsewhere, the time on the clock is measured.
    """

    process: int
    _spent: float = 0.0
    _at: float | None = None
    _cpu: float = 0.0

    def seconds(self) -> float:
        """The seconds that the process has spent since the first call."""
        now = time.monotonic()
        state, cpu = _state(self.process)
        if self._at is not None:
            step = min(now - self._at, MOST_STEP)
            self._spent += {"R": min(step, cpu - self._cpu), "T": 0.0, "t": 0.0}.get(state, step)
        self._at, self._cpu = now, cpu
        return self._spent


def _state(process: int) -> tuple[str, float]:
    """The state of a process as a letter, such as R for one that computes, and its processor time in seconds."""
    if sys.platform != "linux":
        return "", 0.0
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0.0
    fields = status.rpartition(")")[2].split()  # the name before it can contain anything
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

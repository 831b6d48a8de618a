"""The factor of the learning rates at each step."""

import math
from typing import Literal, Protocol


class Schedule(Protocol):
    """The settings of the learning rates over the steps of a run."""

    @property
    def warmup(self) -> int:
        """Steps of linear warmup."""

    @property
    def schedule(self) -> Literal["linear", "wsd"]:
        """What follows the warmup."""

    @property
    def cooldown(self) -> float:
        """With wsd, the share of the steps in which rates fall."""


def rate_factor(learning: Schedule, step: int, n_steps: int) -> float:
    """The factor, above 0 and at most 1, of the step with the number `step`, from 0, of `n_steps`.

    Both schedules begin with a linear warmup. `linear` then falls to zero in a line. `wsd` stays at 1, and falls in a
    half cosine over the last steps, which are the share `cooldown` of all; where both overlap, the lower one counts.
    """
    rising = min(1.0, (step + 1) / max(1, learning.warmup))
    left = n_steps - step
    if learning.schedule == "linear":
        return rising if step < learning.warmup else left / max(1, n_steps - learning.warmup)
    n_last = round(learning.cooldown * n_steps)
    return min(rising, 1.0 if left > n_last else (1 - math.cos(math.pi * left / n_last)) / 2)

"""The factor of the learning rates at each step."""

import math


def linear(step: int, n_steps: int, warmup: int) -> float:
    """The factor of the step with the number `step`, from 0: a line up in the warmup, then a line down to zero."""
    if step < warmup:
        return (step + 1) / warmup
    return (n_steps - step) / max(1, n_steps - warmup)


def stable_then_cosine(step: int, n_steps: int, warmup: int, cooldown: float) -> float:
    """The factor of a step after a line up: 1, and over the last share `cooldown` of all steps a half cosine to zero.

    Where warmup and cooldown overlap, the lower one counts.
    """
    rising = min(1.0, (step + 1) / max(1, warmup))
    left, n_last = n_steps - step, round(cooldown * n_steps)
    return min(rising, 1.0 if left > n_last else (1 - math.cos(math.pi * left / n_last)) / 2)

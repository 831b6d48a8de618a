"""The factor of the learning rates at each step."""


def linear(step: int, n_steps: int, warmup: int) -> float:
    """The factor of the step with the number `step`, from 0: a line up in the warmup, then a line down to zero."""
    if step < warmup:
        return (step + 1) / warmup
    return (n_steps - step) / max(1, n_steps - warmup)

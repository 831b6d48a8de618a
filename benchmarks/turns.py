"""How are runs compared on a machine whose speed wavers? In turns, by their medians."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any


def in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, after one warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in seconds.items()}

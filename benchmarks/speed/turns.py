"""How are runs compared on a machine whose speed wavers? In turns, by their medians."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any


def in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int, *, cpu_time: bool = False) -> dict[str, float]:
    """Median seconds of each, after one warm-up; `cpu_time`: of this process alone, whatever else is running."""
    clock = time.process_time if cpu_time else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            started = clock()
            run()
            if number:
                seconds[name].append(clock() - started)
    return {name: median(values) for name, values in seconds.items()}

"""Compare runs on a machine of varying speed: they run in turns and are compared by their medians."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any


def in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int, *, cpu_time: bool = False) -> dict[str, float]:
    """The median seconds of each run, after one warm-up. With `cpu_time`, processor time of this process only."""
    clock = time.process_time if cpu_time else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            started = clock()
            run()
            if number:
                seconds[name].append(clock() - started)
    return {name: median(values) for name, values in seconds.items()}

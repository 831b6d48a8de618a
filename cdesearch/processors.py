"""The processors that this process may use."""

import os


def available_processors() -> int:
    """Their number: those that the system allows the process, or all where it cannot say which."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1

"""How much a file may cost, and how a worker is held to it."""

import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may take."""

    seconds: float = 60  # without progress: without a chunk, and in files of records without a byte read
    memory_bytes: int = 2_000_000_000  # above what a worker needs for itself; on Linux alone
    characters: int = 200_000_000  # of text in one document: what a small file may unpack to


def bound_memory(limits: Limits) -> None:
    """Let this process have no more than the limit on top of what it has now. Only Linux counts as we need it."""
    held = data_bytes()
    if held is not None:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = held + limits.memory_bytes
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def data_bytes() -> int | None:
    """The writable memory that this process holds, as RLIMIT_DATA counts it; None where the system does not say."""
    if sys.platform != "linux":
        return None
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def die_with(parent: int) -> None:
    """End this process when the one that started it ends, however busy this one is. Linux alone can promise that.

    Elsewhere a worker ends when it next looks for a task.
    """
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it ended before the call
        os._exit(0)

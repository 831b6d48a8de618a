"""The processors that a process may use, and limits of one that reads untrusted files: of its memory and its life."""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def available_processors() -> int:
    """Their number: those that the system allows the process, or all where it cannot say which."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def bound_memory(n_bytes: int) -> None:
    """Limit the memory of this process to its present memory plus `n_bytes`. Only Linux can do this."""
    present = data_bytes()
    if present is not None:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = present + n_bytes
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def data_bytes() -> int | None:
    """Bytes of writable memory of this process, as RLIMIT_DATA counts them; None if the system does not report it."""
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
    """End this process when its parent ends, however busy this process is. Only Linux guarantees that.

    Elsewhere a worker ends when it next looks for a task.
    """
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(0)


def write_no_core_file() -> None:
    """Let a crash of this process leave no file behind."""
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

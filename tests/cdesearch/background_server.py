"""Servers in the background, in a runtime folder of their own."""

import os
import re
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

from command import cdesearch_process

_started = []  # the numbers of the processes that `serve` has started


@contextmanager
def runtime_folder():
    """A new value for XDG_RUNTIME_DIR, short enough for sockets; servers that still run are killed at the end."""
    n_before = len(_started)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        try:
            yield Path(name).resolve()
        finally:
            while len(_started) > n_before:
                with suppress(ProcessLookupError):
                    os.kill(_started.pop(), signal.SIGKILL)


def serve(*arguments, runtime, cwd, code=0, **environment):
    """Run `cdesearch serve` with these arguments as a process."""
    run = cdesearch_process("serve", *arguments, cwd=cwd, code=code, XDG_RUNTIME_DIR=str(runtime), **environment)
    if started := re.fullmatch(r"Serving .* in the background \(process (\d+)\)\.\n", run.stdout):
        _started.append(int(started[1]))
    elif stopped := re.fullmatch(r"Stopped .* \(process (\d+)\)\.\n", run.stdout):
        with suppress(ValueError):
            _started.remove(int(stopped[1]))
    return run

"""Updates of indexes that a server starts: one at a time, each in a separate process."""

import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from cdesearch.child_process import python_module, same_modules
from cdesearch.store.place import Place

MAX_LINES = 12  # the number of lines that are kept of the output
MAX_LINE = 400  # characters of a line that are kept
STOP_SECONDS = 20  # the time that a running update has to end when the server stops

UpdateState = Literal["never", "running", "done", "failed"]
Command = Callable[[Place], list[str]]


def update_command(folder: Place) -> list[str]:
    """Return the command that updates the index in `folder`."""
    return python_module("cdesearch", "index", "--index", str(folder))


@dataclass(slots=True)
class UpdateRun:
    """An update that is running or has ended."""

    process: subprocess.Popen[str]
    started: float  # seconds since the epoch
    ended: float | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_LINES))  # the end of its output

    @property
    def state(self) -> UpdateState:
        """The state of the update: "running", "done" or "failed"."""
        if self.ended is None:
            return "running"
        return "done" if self.process.returncode == 0 else "failed"


class UpdateRuns:
    """The latest update of each index. All methods may be called from any thread."""

    def __init__(self, command: Command = update_command) -> None:
        self._command = command
        self._runs: dict[Place, UpdateRun] = {}
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None

    def latest(self, folder: Place) -> UpdateRun | None:
        """Return the latest update of the index in `folder`; None if this server has not started any."""
        return self._runs.get(folder)

    def start(self, folder: Place, *options: str) -> bool:
        """Start an update of the index in `folder`, with further options of the command.

        Returns False if another update is running.
        """
        with self._lock:
            if any(run.ended is None for run in self._runs.values()):
                return False
            process = subprocess.Popen(
                [*self._command(folder), *options],
                env=same_modules(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            run = self._runs[folder] = UpdateRun(process, time.time())
            self._reader = threading.Thread(target=_read, args=(run,), name="cdesearch-update")
            self._reader.start()
            return True

    def close(self) -> None:
        """Stop the running update, if there is one. The next update of the index continues it."""
        with self._lock:
            for run in self._runs.values():
                if run.ended is None:
                    run.process.terminate()
            if self._reader is not None:
                self._reader.join(STOP_SECONDS)


def _read(run: UpdateRun) -> None:
    """Store the last lines that the process prints, until it ends."""
    with run.process as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                run.lines.append(line.strip()[:MAX_LINE])
    run.ended = time.time()

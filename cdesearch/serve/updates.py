"""Updates of the indexes of a server, in processes of their own: on request, or whenever files have changed.

Run as a module, this is the process that follows the changes of one index.
"""

import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from cdesearch.builders import BUILDER
from cdesearch.child_process import python_module, same_modules
from cdesearch.cli.exits import raise_on_signal, run_and_exit
from cdesearch.slim_imports import prepare_libraries
from cdesearch.terminal import printable

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndex

MAX_LINES = 12  # the number of lines that are kept of the output of an update
MAX_LINE = 400  # characters of a line that are kept
STOP_SECONDS = 20  # the time that a process has to end when the server stops
RETRY_SECONDS = 1.0  # before a process that has ended is started again; twice as long each further time
MOST_RETRY_SECONDS = 60.0

UpdateState = Literal["never", "running", "done", "failed"]


def update_command(folder: Path) -> list[str]:
    """The command that updates the index in `folder`."""
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

    def __init__(self, command: Callable[[Path], list[str]] = update_command) -> None:
        self._command = command
        self._runs: dict[Path, UpdateRun] = {}
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None

    def latest(self, folder: Path) -> UpdateRun | None:
        """The latest update of the index in `folder`; None if this server has not started any."""
        return self._runs.get(folder)

    def start(self, folder: Path) -> bool:
        """Start an update of the index in `folder`; returns False if another update is running."""
        with self._lock:
            if any(run.ended is None for run in self._runs.values()):
                return False
            run = self._runs[folder] = UpdateRun(_started(self._command(folder)), time.time())
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


class Watcher:
    """A process for each index, which keeps the model loaded and updates the index whenever its files have changed.

    The lines that a process prints are shown on stderr after the name of the index.
    """

    def __init__(self, indexes: "Iterable[ServedIndex]") -> None:
        self._closing = threading.Event()
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._starting = threading.Lock()  # so that no process starts after `close` has ended the others
        self._threads = [
            threading.Thread(target=self._watch, args=(served,), name="cdesearch-watch", daemon=True)
            for served in indexes
        ]
        for thread in self._threads:
            thread.start()

    @property
    def processes(self) -> "list[subprocess.Popen[str]]":
        return list(self._running.values())

    def close(self) -> None:
        """End the processes. The next update continues one that is interrupted."""
        with self._starting:
            self._closing.set()
            for process in self.processes:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0, deadline - time.monotonic()))
        for process in self.processes:
            process.kill()  # has no effect on one that has ended

    def _watch(self, served: "ServedIndex") -> None:
        command = python_module("cdesearch.serve.updates", str(served.index.folder))
        seconds, shown = RETRY_SECONDS, ""
        while True:
            with self._starting:
                if self._closing.is_set():
                    return
                # stdin is closed when this process ends for any reason, and ends the other one.
                process = self._running[served.name] = _started(command, stdin=subprocess.PIPE)
            started = time.monotonic()
            with process:
                assert process.stdout is not None
                for line in process.stdout:
                    if line != shown and not self._closing.is_set():
                        typer.echo(printable(f"{served.name}: {line.rstrip()}"), err=True)
                    shown = line
            has_worked = time.monotonic() - started > MOST_RETRY_SECONDS
            seconds = RETRY_SECONDS if has_worked else min(2 * seconds, MOST_RETRY_SECONDS)
            self._closing.wait(seconds)


def _started(command: list[str], stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        env=same_modules(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )


def _read(run: UpdateRun) -> None:
    """Store the last lines that the process prints, until it ends."""
    with run.process as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                run.lines.append(line.strip()[:MAX_LINE])
    run.ended = time.time()


def _follow(folder: Path) -> None:
    """Update the index in `folder` whenever its files change, until stdin is closed; raises CdesearchError."""
    raise_on_signal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the server as well, which ends this
    prepare_libraries()
    stop = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()  # the end of the server closes it
        stop.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    tools = BUILDER.warm()
    try:
        BUILDER.keep_up(folder, tools, typer.echo, stop)
    finally:
        tools.close()


if __name__ == "__main__":
    run_and_exit(lambda: _follow(Path(sys.argv[1])))

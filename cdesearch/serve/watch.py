"""Updates that start by themselves when the files of an index have changed."""

import subprocess
import threading
import time

import typer

from cdesearch.child_process import python_module, same_modules
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.update_runs import STOP_SECONDS
from cdesearch.terminal import printable

RETRY_SECONDS = 1.0  # before a process that has ended is started again; twice as long each further time
MOST_RETRY_SECONDS = 60.0


class Watcher:
    """A process for each index, which keeps the model loaded and updates the index whenever its files have changed.

    With `refreshes`, it samples a new context if the context no longer fits the documents. The lines that a process
    prints are shown on stderr after the name of the index.
    """

    def __init__(self, indexes: ServedIndexes, *, refreshes: bool = False) -> None:
        self._refresh = "auto" if refreshes else "advise"
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
        """The latest process of each index."""
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

    def _watch(self, served: ServedIndex) -> None:
        seconds, shown = RETRY_SECONDS, ""
        while (process := self._started(served)) is not None:
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

    def _started(self, served: ServedIndex) -> "subprocess.Popen[str] | None":
        """A new process for the index; None if the server ends."""
        with self._starting:
            if self._closing.is_set():
                return None
            process = self._running[served.name] = subprocess.Popen(
                python_module("cdesearch.serve.watch_process", str(served.index.place), self._refresh),
                env=same_modules(),
                stdin=subprocess.PIPE,  # is closed when this process ends for any reason, and ends the other one
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            return process

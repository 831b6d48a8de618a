"""Updates that start by themselves when the files of an index have changed."""

import threading
import time
from pathlib import Path
from typing import Any

import typer

from cdesearch.builders import builder
from cdesearch.errors import CdesearchError
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.update_runs import UpdateRun, UpdateRuns
from cdesearch.store.folder import current_name
from cdesearch.store.manifest import Globs
from cdesearch.store.trust import require_trust
from cdesearch.terminal import printable

POLL_SECONDS = 0.2  # between two checks whether an update has ended
REST_SECONDS = 2.0  # the minimum pause after an update: a file that changes constantly must not keep the computer busy
RETRY_SECONDS = 60.0  # the pause after an update that failed, and between two attempts to use an unusable index


class Watcher:
    """A thread for each index, which updates the index when the file system reports that its files have changed.

    With `refreshes`, a new context is sampled if an update shows that the context no longer fits the documents.
    """

    def __init__(self, indexes: ServedIndexes, updates: UpdateRuns, *, refreshes: bool = False) -> None:
        self._updates = updates
        self._refreshes = refreshes
        self._left_alone: set[Path] = set()  # indexes whose context was still stale after a refresh
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(served,), name="cdesearch-watch", daemon=True)
            for served in indexes
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads. A running update continues."""
        self._closing.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, served: ServedIndex) -> None:
        watched: Any = None
        while not self._closing.is_set():
            if watched is None or _is_other(watched, served):
                watched = self._opened(served)
                has_changes = self._has_changes(served)  # since the last update
            else:
                has_changes = bool(watched.wait(self._closing))
            if watched is None:
                self._closing.wait(RETRY_SECONDS)
            elif has_changes and _is_current(served):
                if not self._run(served):
                    watched = None  # the next round finds the same changes and repeats the update
                elif self._refreshes and served.index.folder not in self._left_alone:
                    self._refresh_if_stale(served)

    def _opened(self, served: ServedIndex) -> Any:
        """Return an object that waits for changes of files; None if the index cannot be used, as its status reports."""
        try:
            require_trust(served.index, model=False)
        except CdesearchError:
            return None
        watched = builder("watched")(*_files(served))
        if watched.problem:
            typer.echo(printable(f"{served.name}: {watched.problem}"), err=True)
        return watched

    def _has_changes(self, served: ServedIndex) -> bool:
        """Return whether any file is new, modified or deleted."""
        try:
            require_trust(served.index, model=False)
            with served.index.checks.reporting_damage():
                return any(builder("changes")(served.index).values())
        except CdesearchError:
            return False

    def _refresh_if_stale(self, served: ServedIndex) -> None:
        """Sample a new context if the context no longer fits the documents; searches use the old one meanwhile."""
        if not _is_current(served) or builder("stale")(served.index.manifest) is None:
            return
        is_refreshed = self._run(served, "--refresh-context") and _is_current(served)
        if is_refreshed and builder("stale")(served.index.manifest) is not None:
            self._left_alone.add(served.index.folder)

    def _run(self, served: ServedIndex, *options: str) -> bool:
        """Run an update, wait until it has ended and for a pause, and return whether it succeeded."""
        folder = served.index.folder
        while not self._updates.start(folder, *options):
            if self._closing.wait(POLL_SECONDS):
                return False
        run = self._updates.latest(folder)
        while run is not None and run.ended is None:
            if self._closing.wait(POLL_SECONDS):
                return False
        self._closing.wait(_rest(run))
        return run is not None and run.state == "done"


def _files(served: ServedIndex) -> tuple[tuple[Path, ...], Globs, dict[Path, Globs]]:
    """Return what determines which files belong to the index."""
    return served.index.sources, served.index.manifest.globs, served.index.source_globs


def _is_other(watched: Any, served: ServedIndex) -> bool:
    """Return whether other files are watched than those of the index."""
    return (watched.sources, watched.globs, watched.source_globs) != _files(served)


def _is_current(served: ServedIndex) -> bool:
    """Return whether the newest generation is open. One that the server cannot open must be repaired first."""
    try:
        deadline = time.monotonic() + REST_SECONDS
        while current_name(served.index.folder) != served.index.generation.name:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
    except CdesearchError:
        return False
    return True


def _rest(run: UpdateRun | None) -> float:
    if run is None or run.ended is None or run.state != "done":
        return RETRY_SECONDS
    return max(REST_SECONDS, (run.ended - run.started) / 2)

"""Start an update automatically when the files of an index have changed."""

import threading
import time
from importlib.metadata import entry_points
from typing import Any

from cdesearch.errors import CdesearchError
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.update_runs import UpdateRun, UpdateRuns
from cdesearch.store.folder import current_name
from cdesearch.store.trust import require_trust

CHECK_SECONDS = 2.0  # the minimum time between two checks of the files
CHECK_SHARE = 0.1  # checks take at most this share of the time
REST_SECONDS = 5.0  # the minimum pause after an update: a file that changes constantly must not keep the computer busy
RETRY_SECONDS = 60.0  # the pause after an update that failed or changed nothing


class Watcher:
    """A thread that checks the files of each index, and starts an update of an index whose files have changed."""

    def __init__(self, indexes: ServedIndexes, updates: UpdateRuns) -> None:
        self._indexes = indexes
        self._updates = updates
        self._before: dict[str, str] = {}  # from the name of an index to its generation when the latest update began
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cdesearch-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread. A running update continues."""
        self._closing.set()
        self._thread.join()

    def _watch(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            started = time.monotonic()
            for served in self._indexes:
                self._check(served)
            pause = max(CHECK_SECONDS, (time.monotonic() - started) / CHECK_SHARE)

    def _check(self, served: ServedIndex) -> None:
        index = served.index
        if not self._may_start(served, self._updates.latest(index.folder)):
            return
        try:
            # A newer generation that the server has not opened yet may already contain the changes.
            has_changes = current_name(index.folder) == index.generation.name and _has_changes(served)
        except CdesearchError:  # the status of the index reports the error
            return
        if has_changes and self._updates.start(index.folder):
            self._before[served.name] = index.generation.name

    def _may_start(self, served: ServedIndex, latest: UpdateRun | None) -> bool:
        if latest is None:
            return True
        if latest.ended is None:
            return False
        is_useful = latest.state == "done" and self._before.get(served.name) != served.index.generation.name
        rest = max(REST_SECONDS, latest.ended - latest.started) if is_useful else RETRY_SECONDS
        return time.time() > latest.ended + rest


def _has_changes(served: ServedIndex) -> bool:
    """Return whether any file is new, modified or deleted; raises CdesearchError."""
    index = served.index
    require_trust(index, model=False)
    (finder,) = entry_points(group="cdesearch.builders", name="changes")
    count: Any = finder.load()
    with index.checks.reporting_damage():
        return any(count(index).values())

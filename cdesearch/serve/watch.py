"""Updates that start by themselves when the files of an index have changed."""

import threading
import time
from importlib.metadata import entry_points
from typing import Any

from cdesearch.errors import CdesearchError
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.update_runs import UpdateRun, UpdateRuns
from cdesearch.store.folder import current_name
from cdesearch.store.trust import require_trust

LOOK_SECONDS = 2.0  # between two looks at the files, at least
LOOK_SHARE = 0.1  # of the time, at most, is spent on looking
REST_SECONDS = 5.0  # after an update, at least; a file that is written all the time must not keep the computer busy
RETRY_SECONDS = 60.0  # after an update that failed or changed nothing


class Watcher:
    """A thread that looks at the files of each index, and updates an index whose files have changed."""

    def __init__(self, indexes: ServedIndexes, updates: UpdateRuns) -> None:
        self._indexes = indexes
        self._updates = updates
        self._before: dict[str, str] = {}  # by the name of an index: its generation when its update began
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cdesearch-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread. An update that runs is not stopped."""
        self._closing.set()
        self._thread.join()

    def _watch(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            started = time.monotonic()
            for served in self._indexes:
                self._look(served)
            pause = max(LOOK_SECONDS, (time.monotonic() - started) / LOOK_SHARE)

    def _look(self, served: ServedIndex) -> None:
        index = served.index
        if not self._may_start(served, self._updates.latest(index.folder)):
            return
        try:
            # A generation that the server has not opened may contain the changes already.
            has_changes = current_name(index.folder) == index.generation.name and _has_changes(served)
        except CdesearchError:  # the status of the index reports it
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
    """Whether files are new, modified or deleted; raises CdesearchError."""
    index = served.index
    require_trust(index, model=False)
    (finder,) = entry_points(group="cdesearch.builders", name="changes")
    count: Any = finder.load()
    with index.checks.reporting_damage():
        return any(count(index).values())

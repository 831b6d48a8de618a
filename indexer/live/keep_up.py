"""Update an index whenever its files have changed, one update at a time, while the model stays loaded."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from cdesearch.errors import CdesearchError, IndexNotFoundError
from cdesearch.progress import Silent
from cdesearch.store.copies import address_of_copies
from cdesearch.store.index import Index
from cdesearch.store.manifest import Globs
from cdesearch.terminal import counted
from indexer.build import build
from indexer.live.watched import WHOLE_SECONDS, Watched
from indexer.settings import Options
from indexer.summary import Report
from indexer.warm import Warm

# Of the time of an update, as a pause before the next one: a file may change all the time. Longer pauses save little,
# and a change that an update has just missed is found after two updates and the pause.
REST = 0.2
RETRY_SECONDS = 1.0  # after an update that failed; twice as long after each further failure
MOST_RETRY_SECONDS = 60.0


def keep_up(folder: Path, tools: Warm, say: Callable[[str], None], stop: Event) -> None:
    """Update the index in `folder` whenever its files change, until `stop` is set.

    `say` is called with one line for each update and each new error, for each source that disappears or exists again,
    and if changes will be found later because the system or a bucket does not report all of them. If a new context is
    advisable, and all texts would have to be embedded for it, `say` is called with the advice once.
    """
    watched = Watched(*_files(Index(folder)))
    for address in filter(None, map(address_of_copies, watched.sources)):
        minutes = f"{WHOLE_SECONDS / 60:g} minutes"
        say(f"A bucket does not report changes, so {address} is looked up at least every {minutes}.")
    problem = _announce(watched, (), None, say)
    updates = _Updates(folder, tools, say)
    seconds = updates.run(watched)  # for changes before the watch began
    while not stop.wait(REST * seconds):
        tools.prepare()
        missing = watched.missing
        if not watched.wait(stop, updates.retry_seconds):
            break
        problem = _announce(watched, missing, problem, say)
        seconds = updates.run(watched)
        watched = _renewed(folder, watched)


@dataclass(slots=True)
class _Updates:
    """The updates of one index, one after another."""

    folder: Path
    tools: Warm
    say: Callable[[str], None]
    retry_seconds: float = math.inf  # until the next update even if nothing changes, because the last one failed
    _error: str = ""  # the last one, as a line that is not shown again
    _has_advised: bool = False

    def run(self, watched: Watched) -> float:
        """Run one update; returns how many seconds it took."""
        started = time.monotonic()
        try:
            report = build([], Options(index=self.folder, wait=True), Silent(), self.tools)
            seconds = time.monotonic() - started
            self._error, self.retry_seconds = "", math.inf
            if report.changed:
                self.say(summary(report))
                if report.advice and not self._has_advised:
                    self.say(report.advice)
                self._has_advised = report.advice is not None
        except CdesearchError as error:
            is_first = self.retry_seconds == math.inf
            self.retry_seconds = RETRY_SECONDS if is_first else min(2 * self.retry_seconds, MOST_RETRY_SECONDS)
            is_missing = any(self.folder.is_relative_to(source) for source in watched.missing)
            if not is_missing:  # which is reported
                self._show(error)
            return RETRY_SECONDS
        return seconds

    def _show(self, error: CdesearchError) -> None:
        line = f"error: {error}"
        if isinstance(error, IndexNotFoundError):  # it existed when the watch began
            line = f"The index in {self.folder} was removed. The watch waits for a new one."
        if line != self._error:
            self.say(line)
            self._error = line
        self.tools.close()  # the model on disk may have been replaced


def _renewed(folder: Path, watched: Watched) -> Watched:
    """`watched`, or a new watch if the index has other sources or globs now."""
    try:
        index = Index(folder)
    except CdesearchError:
        return watched
    files = _files(index)
    return watched if files == (watched.sources, watched.globs, watched.source_globs) else Watched(*files)


def _files(index: Index) -> tuple[tuple[Path, ...], Globs, dict[Path, Globs]]:
    """What determines which files belong to an index, as the inputs of `Watched`."""
    return index.sources, index.manifest.globs, index.source_globs


def _announce(watched: Watched, before: Sequence[Path], problem: str | None, say: Callable[[str], None]) -> str | None:
    """Say what has changed since `before` were the missing sources and `problem` was said; returns the new problem."""
    if watched.problem and watched.problem != problem:
        say(watched.problem)
    for source in watched.missing:
        if source not in before and address_of_copies(source) is None:  # copies are downloaded again
            say(f"{source} does not exist. Its documents stay in the index, and are updated when it exists again.")
    for source in before:
        if source not in watched.missing:
            say(f"{source} exists again.")
    return watched.problem


def summary(report: Report) -> str:
    """One line about an update."""
    counts = f"{counted(report.documents, 'document')}, {counted(report.chunks, 'chunk')}"
    if not report.changed:
        return f"Nothing has changed: {counts}."
    renewed = f" {report.renewed}" if report.renewed else ""
    return f"Updated: {counts} ({report.embedded:,} embedded) in {report.seconds:.1f} s.{renewed}"

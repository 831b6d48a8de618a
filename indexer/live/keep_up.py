"""Update an index whenever its files have changed, one update at a time, with the model loaded all the time."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from cdesearch.errors import CdesearchError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from cdesearch.terminal import counted
from indexer.build import Report, build
from indexer.live.watched import Watched
from indexer.settings import Options
from indexer.warm import Warm

REST = 0.5  # of the time that an update took, before the next one: a file may be written all the time
RETRY_SECONDS = 60.0  # after an update that failed


def keep_up(folder: Path, tools: Warm, say: Callable[[str], None], stop: Event) -> None:
    """Update the index in `folder` whenever its files change, until `stop` is set.

    `say` gets one line for each update and each error, and for each source that disappears or returns.
    """
    watched = _watched(Index(folder))
    if watched.problem:
        say(f"{watched.problem}: it is looked through every half minute.")
    _announce(watched, (), say)
    seconds = _update(folder, watched, tools, say)  # what changed before the watch began
    while not stop.wait(REST * seconds):
        tools.prepare()
        missing = watched.missing
        if not watched.wait(stop):
            break
        _announce(watched, missing, say)
        seconds = _update(folder, watched, tools, say)
        watched = _of_present_sources(folder, watched)


def _update(folder: Path, watched: Watched, tools: Warm, say: Callable[[str], None]) -> float:
    """Run one update; returns how many seconds it took, or twice RETRY_SECONDS if it failed."""
    started = time.monotonic()
    try:
        report = build([], Options(index=folder, absent=watched.missing, wait=True), Silent(), tools)
    except CdesearchError as error:
        say(f"error: {error}")
        tools.close()  # the model on disk may be another one now
        return RETRY_SECONDS / REST
    if report.changed:
        say(summary(report))
    return time.monotonic() - started


def _of_present_sources(folder: Path, watched: Watched) -> Watched:
    """The watch of the files that the index has now."""
    try:
        index = Index(folder)
    except CdesearchError:
        return watched
    is_same = (index.sources, index.manifest.globs) == (watched.sources, watched.globs)
    return watched if is_same else _watched(index)


def _watched(index: Index) -> Watched:
    return Watched(index.sources, index.manifest.globs)


def _announce(watched: Watched, before: Sequence[Path], say: Callable[[str], None]) -> None:
    for source in watched.missing:
        if source not in before:
            say(f"{source} is not there. Its documents stay in the index; waiting for it to come back.")
    for source in before:
        if source not in watched.missing:
            say(f"{source} is back.")


def summary(report: Report) -> str:
    """One line about an update."""
    counts = f"{counted(report.n_documents, 'document')}, {counted(report.n_chunks, 'chunk')}"
    if not report.changed:
        return f"Nothing has changed: {counts}."
    return f"Updated: {counts} ({report.embedded:,} embedded) in {report.seconds:.1f} s."

"""Measure updates of large indexes: of one file in an index of many chunks, and of none or one of many files."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.speed.searching import search_queries
from benchmarks.speed.synthetic import Material, grow_folder, source_index
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from indexer.warm import Warm

CHUNKS_PER_FILE = 10
UPDATES = 20  # enough that graphs are joined

# Runs the command, and prints the peak memory of its process in bytes and its seconds of processor time. What the
# system reports to the parent process would include the memory of the parent.
_COMMAND = (
    "import atexit, json, sys, time\n"
    "from cdesearch.__main__ import main\n"
    "def report():\n"
    "    from benchmarks.machine import peak_memory\n"
    "    print(json.dumps([peak_memory(), time.process_time()]))\n"
    "atexit.register(report)\n"
    "main()\n"
)


def update_measurements(corpus: Path, work: Path, n_chunks: int) -> list[Measurement]:
    """Updates of one file in an index of `n_chunks`: in a new process, and in one that keeps the model like `watch`."""
    source, folder = source_index(corpus, work / "update"), work / f"folder-{n_chunks}"
    index = grow_folder(Material(source), folder, n_chunks // CHUNKS_PER_FILE, CHUNKS_PER_FILE)
    queries = search_queries(corpus)[:100]
    before = _searches(index, queries)
    _change(folder, 0)
    _, seconds, processor = _update(index.folder)
    tools = Warm()
    updates = []
    for number in range(1, UPDATES):
        tools.prepare()
        _change(folder, number)
        updates.append(_timed(lambda: build([], Options(index=index.folder), Silent(), tools)))
    tools.close()
    after = _searches(Index(index.folder), queries)
    detail = {"chunks": n_chunks, "updates": updates, "ms before": before, "ms after": after}
    return [
        Measurement("update of one file, a process of its own", seconds, "s", at_most=5, detail={"cpu": processor}),
        Measurement("update of one file, the model loaded, median", median(updates), "s", at_most=5, detail=detail),
        Measurement("update of one file, the model loaded, slowest", max(updates), "s"),
        Measurement("hybrid search after the updates, against before", after / before, "times", at_most=1.1),
    ]


def folder_measurements(corpus: Path, work: Path, n_files: int) -> list[Measurement]:
    """Updates of an index of `n_files` small files, of which none or one has changed."""
    source, folder = source_index(corpus, work / "folder"), work / f"files-{n_files}"
    index = grow_folder(Material(source), folder, n_files, 1)
    peak, seconds, processor = _update(index.folder)
    _change(folder, 0)
    changed_peak, changed_seconds, changed_processor = _update(index.folder)
    return [
        Measurement("update without a change", seconds, "s", at_most=5, detail={"files": n_files, "cpu": processor}),
        Measurement("update without a change, memory", peak / 1e9, "GB", at_most=1),
        Measurement("update of one file of many", changed_seconds, "s", detail={"cpu": changed_processor}),
        Measurement("update of one file of many, memory", changed_peak / 1e9, "GB", at_most=1),
    ]


def _change(folder: Path, number: int) -> None:
    file = folder / "000" / f"{number:06}.txt"
    file.write_text(f"Changed at {time.time()}. " + file.read_text(encoding="utf-8"), encoding="utf-8")


def _update(folder: Path) -> tuple[int, float, float]:
    """Peak memory in bytes, and seconds on the clock and on the processor, of a process that updates an index."""
    started = time.perf_counter()
    command = [sys.executable, "-c", _COMMAND, "index", "--index", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    peak, processor = json.loads(run.stdout.splitlines()[-1])
    return peak, seconds, processor


def _searches(index: Index, queries: Sequence[str]) -> float:
    """The median milliseconds of a hybrid search."""
    with Searcher(index) as searcher:
        for query in queries[:10]:
            searcher.search(query)
        return 1000 * median(_timed(partial(searcher.search, query)) for query in queries)


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started

"""Measure updates of no file and of one file in an index of many chunks."""

import time
from pathlib import Path
from statistics import median

from benchmarks.machine import peak_memory
from benchmarks.measurement import Measurement
from benchmarks.speed.material import Material, search_queries
from benchmarks.speed.runs import in_process, timed
from benchmarks.speed.searching import percentiles
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from indexer.warm import Warm

CHUNKS_PER_FILE = 10
UPDATES = 20  # enough that graphs are joined


def update_measurements(corpus: Path, work: Path, n_chunks: int) -> list[Measurement]:
    """Updates of an index of `n_chunks`: in a new process, and in one that keeps the model like `watch`."""
    source, folder = source_index(corpus, work / "update"), work / f"folder-{n_chunks}"
    index = grow(source, folder, Material(source).draw(n_chunks), chunks_per_file=CHUNKS_PER_FILE)
    queries = search_queries(corpus)[:100]
    with Searcher(index) as searcher:
        before = percentiles(searcher.search, queries)
    unchanged, _ = _update(index.folder)
    _change(folder, 0)
    seconds, peak = _update(index.folder)
    tools = Warm()
    updates = []
    for number in range(1, UPDATES):
        tools.prepare()
        _change(folder, number)
        updates.append(timed(lambda: build([], Options(index=index.folder), Silent(), tools)))
    tools.close()
    with Searcher(Index(index.folder)) as searcher:
        after = percentiles(searcher.search, queries)
    detail = {"chunks": n_chunks, "updates": updates, "ms before": before, "ms after": after}
    return [
        Measurement("update without a change, a process of its own", unchanged, "s", at_most=5),
        Measurement("update of one file, a process of its own", seconds, "s", at_most=5),
        Measurement("the same, memory", peak / 1e9, "GB", at_most=1),
        Measurement("update of one file, the model loaded, median", median(updates), "s", at_most=5, detail=detail),
        Measurement("update of one file, the model loaded, slowest", max(updates), "s"),
        Measurement(
            "hybrid search after the updates, against before", after["p50"] / before["p50"], "times", at_most=1.1
        ),
    ]


def _change(folder: Path, number: int) -> None:
    file = folder / "000" / f"{number:06}.txt"
    file.write_text(f"Changed at {time.time()}. " + file.read_text(encoding="utf-8"), encoding="utf-8")


def _update(folder: Path) -> tuple[float, int]:
    """Seconds of a process that updates an index, from its start to its end, and its peak memory in bytes."""
    started = time.perf_counter()
    peak = in_process(_updated, folder)
    return time.perf_counter() - started, peak


def _updated(folder: Path) -> int:
    build([], Options(index=folder), Silent())
    return peak_memory()

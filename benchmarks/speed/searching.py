"""Measure searching: warm queries on growing indexes, and queries as whole processes, with and without a server."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.speed.material import Material, search_queries
from benchmarks.speed.runs import in_turns, timed
from benchmarks.speed.serving import served
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher

WARM_UP = 10
ROUNDS = 30  # of processes
MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")


def search_measurements(corpus: Path, work: Path, sizes: Sequence[int]) -> list[Measurement]:
    """Warm hybrid queries at each size, p50 and p95 with query encoding."""
    source = source_index(corpus, work / "search")
    queries = search_queries(corpus)
    measurements = []
    for size in sizes:
        index = grow(source, work / f"grown-{size}", Material(source).draw(size))
        with Searcher(index) as searcher:
            detail: dict[str, Any] = {mode: percentiles(partial(searcher.search, mode=mode), queries) for mode in MODES}
        bar = 20.0 if size == 100_000 else None
        title = f"warm hybrid search at {size:,} chunks"
        measurements += [
            Measurement(f"{title}, p50", detail["hybrid"]["p50"], "ms", at_most=bar, detail=detail),
            Measurement(f"{title}, p95", detail["hybrid"]["p95"], "ms"),
        ]
    return measurements


def percentiles(call: Callable[[Any], Any], given: Sequence[Any]) -> dict[str, float]:
    """The milliseconds of a call with each of `given`, after a warm-up with the first: p50 and p95."""
    for one in given[:WARM_UP]:
        call(one)
    took = [1000 * timed(lambda one=one: call(one)) for one in given]  # type: ignore[misc] # no type for a default of a lambda
    return {"p50": median(took), "p95": quantiles(took, n=20)[-1]}


def cold_measurements(corpus: Path, work: Path, size: int, rounds: int = ROUNDS) -> list[Measurement]:
    """Measure the median seconds of query processes, with the files of the index in the page cache.

    Processes with and without a server alternate, so that changes in the load of the machine affect both.
    """
    source = source_index(corpus, work / "cold")
    index = grow(source, work / "cold-served", Material(source).draw(size))
    query = search_queries(corpus)[0]
    with served(index) as (announced, _, _), TemporaryDirectory() as nothing:
        took = in_turns(
            {
                "served": lambda: _run("query", query, "--index", str(index.folder), runtime=announced),
                "direct": lambda: _run("query", query, "--index", str(index.folder), runtime=Path(nothing)),
            },
            rounds,
        )
    detail = {"chunks": size, "rounds": rounds, "ratio": took["served"] / took["direct"]}
    return [
        Measurement("cold query through a server", took["served"], "s", at_most=0.25, detail=detail),
        Measurement("the same without a server", took["direct"], "s", at_most=1.5),
    ]


def _run(*arguments: str, runtime: Path) -> None:
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "cdesearch", *arguments]
    subprocess.run(command, env=environment, capture_output=True, check=True)

"""The command that measures a server, and queries as whole processes, against their targets."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, measure
from benchmarks.speed.serving import Load, served, serving_measurements
from benchmarks.speed.synthetic import grow, search_queries, source_index

SUITES = "serving,cold"
ROUNDS = 30  # of processes


def speed(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")],
    chunks: Annotated[int, typer.Option(help="Chunks of the index that is served.")] = 100_000,
    seconds: Annotated[float, typer.Option(help="How long clients ask the server.")] = 600,
    rate: Annotated[float, typer.Option(help="How many searches a second they ask for.")] = 50,
    only: Annotated[str, typer.Option(help=f"Any of {SUITES}.")] = SUITES,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure a server, and queries as whole processes, against their targets."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Measurement]]] = {
            "serving": partial(serving_measurements, corpus, work, chunks, Load(rate, seconds)),
            "cold": partial(cold_measurements, corpus, work, chunks),
        }
        shown = {"corpus": corpus.name, "chunks": chunks, "seconds": seconds, "rate": rate}
        measure("speed", chosen(suites, only), shown, out)


def cold_measurements(corpus: Path, work: Path, size: int) -> list[Measurement]:
    """Measure the median seconds of query processes, with the files of the index in the page cache.

    Processes with and without a server alternate, so that changes in the load of the machine affect both.
    """
    source = source_index(corpus, work / "cold")
    index = grow(source, work / "cold-served", size)
    query = search_queries(corpus)[0]
    with served(index) as (announced, _, _), tempfile.TemporaryDirectory() as nothing:
        took = in_turns(
            {
                "served": lambda: _run("query", query, "--index", str(index.folder), runtime=announced),
                "direct": lambda: _run("query", query, "--index", str(index.folder), runtime=Path(nothing)),
            },
        )
    detail = {"chunks": size, "rounds": ROUNDS, "ratio": took["served"] / took["direct"]}
    return [
        Measurement("cold query through a server", took["served"], "s", at_most=0.25, detail=detail),
        Measurement("the same without a server", took["direct"], "s", at_most=1.5),
    ]


def _run(*arguments: str, runtime: Path) -> None:
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "cdesearch", *arguments]
    subprocess.run(command, env=environment, capture_output=True, check=True)


def in_turns(runs: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """The median seconds of each run, after one warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(ROUNDS + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in seconds.items()}

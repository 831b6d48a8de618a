"""Measure queries as whole processes, with and without a server."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measurement import Measurement
from benchmarks.speed.material import Material, search_queries
from benchmarks.speed.runs import in_turns
from benchmarks.speed.serving import served
from benchmarks.speed.synthetic import grow, source_index

ROUNDS = 30  # of processes


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

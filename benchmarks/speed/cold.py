"""Measure a query as a whole process, from its start to its end, with and without a running server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measurement import Measurement
from benchmarks.speed.searching import search_queries
from benchmarks.speed.synthetic import Material, draw, grow, source_index
from benchmarks.speed.turns import in_turns
from cdesearch.store.index import Index

ROUNDS = 30


def cold_measurements(corpus: Path, work: Path, size: int, rounds: int = ROUNDS) -> list[Measurement]:
    """Measure the median seconds of query processes, with the files of the index in the page cache.

    Processes with and without a server alternate, so that changes in the load of the machine affect both.
    """
    source = source_index(corpus, work / "cold")
    index = grow(source, work / "cold-served", draw(Material(source), size))
    query = search_queries(corpus)[0]
    with _served(index) as (served, direct):
        took = in_turns(
            {
                "served": lambda: _run("query", query, "--index", str(index.folder), runtime=served),
                "words": lambda: _run(query, "--index", str(index.folder), runtime=served),
                "direct": lambda: _run("query", query, "--index", str(index.folder), runtime=direct),
            },
            rounds,
        )
    detail = {"chunks": size, "rounds": rounds, "ratio": took["served"] / took["direct"]}
    return [
        Measurement("cold query through a server", took["served"], "s", at_most=0.25, detail=detail),
        Measurement("the same without the word query", took["words"], "s"),
        Measurement("the same without a server", took["direct"], "s", at_most=1.5),
    ]


@contextmanager
def _served(index: Index) -> Iterator[tuple[Path, Path]]:
    """Start a server, and yield two runtime folders: one in which the server is announced, and an empty one."""
    with TemporaryDirectory() as served, TemporaryDirectory() as direct:
        _run("serve", str(index.folder), "--background", "--port", "0", runtime=Path(served))
        try:
            yield Path(served), Path(direct)
        finally:
            _run("serve", str(index.folder), "--stop", runtime=Path(served))


def _run(*arguments: str, runtime: Path) -> None:
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "cdesearch", *arguments]
    subprocess.run(command, env=environment, capture_output=True, check=True)

"""Measure a query as a whole process, from its start to its end: through a running server and without one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measurement import Measurement
from benchmarks.speed.searching import search_queries
from benchmarks.speed.synthetic import draw, grow, source_index
from benchmarks.speed.turns import in_turns
from cdesearch.store.index import Index

ROUNDS = 30


def cold_measurements(corpus: Path, work: Path, size: int, rounds: int = ROUNDS) -> list[Measurement]:
    """The median seconds of the processes, which take turns; the files of the index are in the page cache."""
    source = source_index(corpus, work / "cold")
    index = grow(source, work / "cold-served", draw(source, size))
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
    """Two folders for sockets: in the first one a server of the index is announced, in the second one none."""
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

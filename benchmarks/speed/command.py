"""The command that measures queries as whole processes, with and without a server."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.measurement import RESULTS, Measurement, measure
from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options
from trainer.data.pairs.reading import read_queries

ROUNDS = 30  # of processes


def speed(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder, whose texts are indexed.")],
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure queries as whole processes, with and without a server, against their targets."""
    measure("speed", {"cold": partial(cold_measurements, corpus)}, {"corpus": corpus.name}, out)


def cold_measurements(corpus: Path) -> list[Measurement]:
    """Measure the median seconds of query processes, with the files of the index in the page cache.

    Processes with and without a server alternate, so that changes in the load of the machine affect both.
    """
    query = next(iter(read_queries(corpus).values()))
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as nothing:
        index = Path(work) / "index"
        chunks = build([corpus / "corpus.jsonl"], Options(index=index), Silent()).chunks
        command = ("query", query, "--index", str(index))
        with served(index) as announced:
            runs = {"served": announced, "direct": Path(nothing)}
            took = in_turns({name: partial(_run, *command, runtime=runtime) for name, runtime in runs.items()})
    detail = {"chunks": chunks, "rounds": ROUNDS, "ratio": took["served"] / took["direct"]}
    return [
        Measurement("cold query through a server", took["served"], "s", at_most=0.25, detail=detail),
        Measurement("the same without a server", took["direct"], "s", at_most=1.5),
    ]


@contextmanager
def served(index: Path) -> Iterator[Path]:
    """Start a server in a separate process; yields the runtime folder in which it is announced."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cdesearch", "serve", str(index), "--port", "0"]
        environment = os.environ | {"XDG_RUNTIME_DIR": folder}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline()
                if "http://" not in line:
                    raise RuntimeError(f"The server did not start: {line}")
                yield Path(folder)
            finally:
                process.terminate()


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

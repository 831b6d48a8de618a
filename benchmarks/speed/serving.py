"""Measure a running server under a constant rate of searches, and compare it with a search in this process."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from urllib.parse import quote

from benchmarks.machine import resident_memory
from benchmarks.measurement import Measurement
from benchmarks.speed.synthetic import grow, search_queries, source_index
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

CLIENTS = 16
TIMEOUT = 60  # seconds for one response
WARM_SECONDS = 60.0  # the warm-up, at most a quarter of the time; memory must not grow after it
ALONE = 100  # the number of searches in the comparison with a searcher in this process


@dataclass(frozen=True, slots=True)
class Load:
    """The load on the server: a constant rate of searches for some time."""

    rate: float  # searches per second
    seconds: float


@dataclass(frozen=True, slots=True)
class _Answered:
    """The observations of the clients. Several threads append to the lists."""

    seconds: list[float] = field(default_factory=list)  # from the time at which a search was due to its response
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds since the start, and bytes


def serving_measurements(corpus: Path, work: Path, size: int, load: Load) -> list[Measurement]:
    """Measure latencies, errors and memory of a server under load, and its search times without load."""
    source = source_index(corpus, work / "serving")
    index = grow(source, work / "served", size)
    queries = search_queries(corpus)
    with served(index) as (_, port, process):
        inside, outside = _alone(index, port, queries)
        answered = _ask_at_a_rate(port, process, queries, load)
    p50, p95, p99 = (1000 * quantiles(answered.seconds, n=100)[percent - 1] for percent in (50, 95, 99))
    detail = {"chunks": size, "clients": CLIENTS, "answers": len(answered.seconds), "errors": answered.errors[:10]}
    large = size >= 100_000
    return [
        Measurement("search inside the server p50", inside, "ms", at_most=20.0 if large else None, detail=detail),
        Measurement("the same search in process p50", outside, "ms"),
        Measurement(f"served at {load.rate:g}/s p50", p50, "ms"),
        Measurement(f"served at {load.rate:g}/s p95", p95, "ms"),
        Measurement(f"served at {load.rate:g}/s p99", p99, "ms", at_most=500.0),
        Measurement("errors", len(answered.errors), "answers", at_most=0),
        Measurement(
            "memory after the warm-up",
            _growth(answered.memory, load.seconds),
            "times",
            at_most=1.05,
            detail={"seconds_and_bytes": answered.memory},
        ),
    ]


@contextmanager
def served(index: Index) -> Iterator[tuple[Path, int, int]]:
    """Start a server in a separate process.

    Yields the runtime folder in which it is announced, its port and the id of the process.
    """
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cdesearch", "serve", str(index.folder), "--port", "0"]
        environment = os.environ | {"XDG_RUNTIME_DIR": folder}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline()
                found = re.search(r":(\d+)/", line)
                if found is None:
                    raise RuntimeError(f"The server did not start: {line}")
                yield Path(folder), int(found[1]), process.pid
            finally:
                process.terminate()


def _alone(index: Index, port: int, queries: Sequence[str]) -> tuple[float, float]:
    """The median milliseconds of a search in the server and of a search in this process.

    The searches alternate, so that changes in the load of the machine affect both.
    """
    inside, outside = [], []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    with Searcher(index) as searcher:
        searcher.warm()
        for query in queries[:ALONE]:
            inside.append(json.loads(_get(connection, query))["milliseconds"])
            outside.append(1000 * searcher.search(query).seconds)
    connection.close()
    return median(inside), median(outside)


def _ask_at_a_rate(port: int, process: int, queries: Sequence[str], load: Load) -> _Answered:
    """Send searches from `CLIENTS` threads at a constant rate.

    Each search is due at a fixed time. Latency is measured from this time, so a slow response also counts for the
    searches that wait for a client.
    """
    answered, numbers, asked = _Answered(), count(), cycle(queries)
    started = time.perf_counter()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        while (due := next(numbers) / load.rate) < load.seconds:
            time.sleep(max(0.0, started + due - time.perf_counter()))
            try:
                _get(connection, next(asked))
                answered.seconds.append(time.perf_counter() - started - due)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                answered.errors.append(str(error) or type(error).__name__)
                connection.close()
        connection.close()

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        answered.memory.append((round(time.perf_counter() - started, 1), resident_memory(process)))
        time.sleep(min(1.0, load.seconds / 20))
    return answered


def _get(connection: http.client.HTTPConnection, query: str) -> bytes:
    connection.request("GET", f"/api/v1/search?q={quote(query)}")
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{response.status} {body[:200]!r}")
    return body


def _growth(memory: Sequence[tuple[float, float]], seconds: float) -> float:
    """The maximum memory after the warm-up, divided by the memory at the end of the warm-up."""
    later = [used for at, used in memory if at >= min(WARM_SECONDS, seconds / 4)]
    return max(later) / later[0]

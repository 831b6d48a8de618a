"""The command that simulates a billion chunks in shards: what a query waits for, and which updates are repeated.

The inputs are measured on one shard. The simulation adds what one machine cannot show: queues, and many writers.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.measurement import positive_numbers, show
from cdesearch.errors import InputError

Z_95 = 1.645  # of the normal distribution
WARM_UP = 0.1  # of the queries, while the queues fill
Milliseconds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shard:
    """What a search of one shard takes on one core, a lognormal distribution."""

    p50: float  # milliseconds
    p95: float

    def draw(self, n: int, random: np.random.Generator) -> Milliseconds:
        """(n,) milliseconds."""
        drawn: Milliseconds = self.p50 * np.exp(np.log(self.p95 / self.p50) / Z_95 * random.standard_normal(n))
        return drawn


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines that hold equally many shards each."""

    machines: int
    cores: int  # of each
    shards: int  # of each
    encoding: float  # milliseconds that each machine takes to encode a query, once for all of its shards
    merging: float  # milliseconds to rank the candidates of all shards, with the network


def simulation(
    shard_ms: Annotated[str, typer.Option(help="p50 and p95 of a search of one shard, in core milliseconds.")],
    shards: Annotated[int, typer.Option(min=1, help="Shards in all.")] = 100,
    machines: Annotated[str, typer.Option(help="Numbers of machines, separated by commas.")] = "10,25,50",
    cores: Annotated[int, typer.Option(min=1, help="Cores of each machine.")] = 16,
    encoding: Annotated[float, typer.Option(min=0, help="Milliseconds to encode a query.")] = 5,
    merging: Annotated[float, typer.Option(min=0, help="Milliseconds to merge the answers, with the network.")] = 10,
    rates: Annotated[str, typer.Option(help="Queries a second, separated by commas.")] = "1,5,10,20,40",
    update_s: Annotated[float, typer.Option(min=0.001, help="Seconds from the start of an update to its commit.")] = 60,
    updates: Annotated[str, typer.Option(help="Updates of one shard an hour, separated by commas.")] = "1,6,30,60",
    queries: Annotated[int, typer.Option(min=100, help="Queries of each row.")] = 4000,
) -> None:
    """Simulate queries of a corpus in shards on several machines, and updates of one shard by several writers."""
    times = positive_numbers(shard_ms, "--shard-ms")
    if len(times) != 2 or times[0] > times[1]:
        raise InputError(f"--shard-ms is {shard_ms}, and must be p50 and p95.", "For example: --shard-ms 240,490.")
    shard = Shard(*times)
    table = Table("machines", "queries a second", "use of the cores", "p50, ms", "p95, ms", "p99, ms")
    for number in map(math.ceil, positive_numbers(machines, "--machines")):
        cluster = Cluster(number, cores, -(-shards // number), encoding, merging)
        for rate in positive_numbers(rates, "--rates"):
            took, share = answer(cluster, shard, rate, queries)
            cells = [f"{value:,.0f}" for value in np.percentile(took, (50, 95, 99))] if share < 1 else ["queue grows"]
            table.add_row(f"{number}", f"{rate:g}", f"{share:.0%}", *cells)
    show(table)
    table = Table("updates an hour", "commits an hour", "repeated", "time to commit, s, p95")
    for per_hour in positive_numbers(updates, "--updates"):
        if per_hour * update_s >= 3600:  # even without a repetition, one after the other takes longer
            table.add_row(f"{per_hour:g}", "never catches up")
            continue
        commits, repeated, waited = commit(update_s, per_hour)
        table.add_row(f"{per_hour:g}", f"{commits:.1f}", f"{repeated:.0%}", f"{np.percentile(waited, 95):,.0f}")
    show(table)


def answer(cluster: Cluster, shard: Shard, rate: float, n_queries: int, seed: int = 0) -> tuple[Milliseconds, float]:
    """The milliseconds (n,) of queries that arrive at random, `rate` a second, and the share of the cores in use.

    A query is answered when the slowest machine has searched all of its shards. Each machine serves searches in the
    order of their arrival. Above a share of 1, queues grow without end, and the milliseconds mean nothing.
    """
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1000 / rate, n_queries))
    done = np.zeros(n_queries)
    busy = 0.0
    for _ in range(cluster.machines):
        work = shard.draw(n_queries * cluster.shards, random).reshape(n_queries, cluster.shards)
        busy += float(work.sum()) + n_queries * cluster.encoding
        done = np.maximum(done, _served(arrivals, cluster.encoding, work, cluster.cores))
    # Not by the time of the last arrival, which is random: a full cluster could seem to have some time left.
    share = busy / n_queries * rate / 1000 / (cluster.machines * cluster.cores)
    return (done - arrivals + cluster.merging)[int(WARM_UP * n_queries) :], share


def _served(arrivals: Milliseconds, encoding: float, work: Milliseconds, cores: int) -> Milliseconds:
    """When a machine has finished each query: an encoding (n,), and then the searches (n, shards), on its cores."""
    free = [0.0] * cores  # when each core is free again, a heap
    finished = np.empty(len(arrivals))
    for row, arrival in enumerate(arrivals):
        encoded = max(arrival, heapq.heappop(free)) + encoding
        heapq.heappush(free, encoded)
        last = encoded
        for milliseconds in work[row]:
            end = max(encoded, heapq.heappop(free)) + milliseconds
            heapq.heappush(free, end)
            last = max(last, end)
        finished[row] = last
    return finished


def commit(
    update_s: float, per_hour: float, hours: float = 2000, seed: int = 0
) -> tuple[float, float, Sequence[float]]:
    """Commits an hour, the share of attempts that are repeated, and the seconds from each start to its commit.

    Writers start at random. An attempt reads the pointer, takes `update_s` and writes the pointer on the condition that
    nobody else has. If somebody has, it starts again from the newest generation.
    """
    commits, attempts, last_commit = 0, 0, -1.0
    waited: list[float] = []
    running: list[tuple[float, float, float]] = [
        (start + update_s, start, start) for start in _starts(per_hour, hours, seed)
    ]
    heapq.heapify(running)
    while running:
        end, began, start = heapq.heappop(running)
        if end > 3600 * hours:
            break
        attempts += 1
        if last_commit > began:  # somebody else has replaced the generation that this attempt began with
            heapq.heappush(running, (end + update_s, end, start))
            continue
        commits, last_commit = commits + 1, end
        waited.append(end - start)
    return commits / hours, 1 - commits / attempts, waited


def _starts(per_hour: float, hours: float, seed: int) -> Iterator[float]:
    random = np.random.default_rng(seed)
    yield from np.cumsum(random.exponential(3600 / per_hour, round(per_hour * hours))).tolist()

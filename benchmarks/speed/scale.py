"""The command that measures indexes of very many chunks: stages of the build, disk, queries and an update."""

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any
from unittest.mock import patch

import typer
from rich.table import Table

from benchmarks.machine import describe, peak_memory
from benchmarks.measurement import RESULTS, command, make_results_folder, positive_numbers, show
from benchmarks.speed.material import Material, search_queries
from benchmarks.speed.runs import in_process, timed
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.errors import InputError
from cdesearch.progress import Silent
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vector_format import DEFAULT, KINDS, VectorKind
from indexer.build import build
from indexer.settings import Options

K = 10
WARM_UP = 10
MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")
CHUNKS_PER_FILE = 10
CHANGED = 1_000  # documents of the update
BY_CALL: dict[str, Callable[[Sequence[Any]], str]] = {  # what a call of a LanceDB table is for
    "add": lambda _: "writing chunks",
    "optimize": lambda _: "joining files",
    "create_index": lambda given: "indexing words" if given[0] == "text" else "indexing vectors",
}


@dataclass(frozen=True, slots=True)
class ScaleSettings:
    """The options of `scale`."""

    corpus: Annotated[Path, typer.Argument(help="BEIR folder to draw texts and vectors from.")]
    sizes: Annotated[str, typer.Option(help="Numbers of chunks, separated by commas.")] = "10000,100000,1000000"
    vectors: Annotated[str, typer.Option(help=f"Kind of the stored vectors: {', '.join(KINDS)}.")] = DEFAULT
    folder: Annotated[
        Path | None, typer.Option(help="Where the indexes are made, and then removed; default: a temporary folder.")
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def scale(settings: ScaleSettings) -> None:
    """Measure indexes of drawn texts and vectors, each stage in a process of its own.

    The last column is the exponent with which a cost grows from the first size to the last: 1 is linear.
    """
    corpus, kind = settings.corpus, settings.vectors
    if kind not in KINDS:
        raise InputError(f"There is no kind of vectors {kind}.", f"Name one of {', '.join(KINDS)}.")
    counts = [int(number) for number in positive_numbers(settings.sizes, "--sizes")]
    queries = search_queries(corpus)
    make_results_folder(settings.out)
    machine = describe()
    columns: dict[int, dict[str, float]] = {}
    for size in counts:
        with tempfile.TemporaryDirectory(dir=settings.folder) as name:
            material, work = Material(source_index(corpus, Path(name) / "source")), Path(name) / "folder"
            columns[size] = {}
            stages = ((_built, (material, work, size, kind)), (_searched, (work, queries)), (_updated, (work,)))
            for stage, given in stages:
                figures = in_process(stage, *given)
                print(f"{size:,} chunks, {stage.__name__[1:]}: {figures}", file=sys.stderr)
                columns[size] |= figures
    _show(columns)
    file = settings.out / f"scale-{kind}-{machine['date']}-{machine['commit']}.json"
    record = {"machine": machine, "corpus": corpus.name, "sizes": columns}
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {file}")


def _built(material: Material, folder: Path, n_chunks: int, kind: VectorKind) -> dict[str, float]:
    """Draw the files and their index; seconds by stage, memory, and bytes on disk by part."""
    started = time.perf_counter()
    with _timed_calls() as seconds:
        index = grow(material.source, folder, material.draw(n_chunks), kind, CHUNKS_PER_FILE)
    everything = time.perf_counter() - started
    figures = {f"{stage}, s": spent for stage, spent in seconds.items()}
    figures["drawing and checksums, s"] = everything - sum(seconds.values())
    figures["memory to build, GB"] = peak_memory() / 1e9
    table = next(index.folder.rglob("chunks.lance"))
    parts = {"texts and vectors": table / "data", "search indexes": table / "_indices", "index": index.folder}
    return figures | {
        f"{name}, GB": sum(file.stat().st_size for file in part.rglob("*") if file.is_file()) / 1e9
        for name, part in parts.items()
    }


@contextmanager
def _timed_calls() -> Iterator[dict[str, float]]:
    """Measure the seconds that the table spends on each kind of change."""
    from lancedb.table import LanceTable

    seconds: dict[str, float] = defaultdict(float)

    def timed(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(table: Any, *given: Any, **options: Any) -> Any:
            started = time.perf_counter()
            result = method(table, *given, **options)
            seconds[BY_CALL[name](given)] += time.perf_counter() - started
            return result

        return call

    with ExitStack() as stack:
        for name in BY_CALL:
            stack.enter_context(patch.object(LanceTable, name, timed(name, getattr(LanceTable, name))))
        yield seconds


def _searched(folder: Path, queries: Sequence[str]) -> dict[str, float]:
    """Milliseconds of queries in each mode, and memory."""
    index = Index(folder / ".cdesearch")
    figures: dict[str, float] = {}
    with Searcher(index) as searcher:
        for mode in MODES:
            found = _percentiles(partial(searcher.search, k=K, mode=mode), queries)
            figures |= {f"{mode} {name}, ms": value for name, value in found.items()}
    return figures | {"memory to search, GB": peak_memory() / 1e9}


def _percentiles(call: Callable[[Any], Any], given: Sequence[Any]) -> dict[str, float]:
    """The milliseconds of a call with each of `given`, after a warm-up with the first: p50 and p95."""
    for one in given[:WARM_UP]:
        call(one)
    took = [1000 * timed(lambda one=one: call(one)) for one in given]  # type: ignore[misc] # no type for a default of a lambda
    return {"p50": median(took), "p95": quantiles(took, n=20)[-1]}


def _updated(folder: Path) -> dict[str, float]:
    """Seconds of updates in which 1,000 files got a text of one chunk, and memory.

    The files of the first update are in as many folders as possible. Those of the second one follow each other.
    """
    files = sorted(folder.glob("[0-9]*/*.txt"))
    apart, together = files[:: max(1, len(files) // CHANGED)][:CHANGED], files[:CHANGED]
    figures = {}
    for name, changed in (("update", apart), ("update of neighbours", together)):
        _change(changed)
        started = time.perf_counter()
        build([], Options(index=folder / ".cdesearch"), Silent())
        figures[f"{name} of {CHANGED:,} files, s"] = time.perf_counter() - started
    return figures | {"memory to update, GB": peak_memory() / 1e9}


def _change(files: Iterable[Path]) -> None:
    for file in files:
        first = file.read_text(encoding="utf-8").partition("\n\n")[0]
        file.write_text(f"Changed at {time.time()}. {first}", encoding="utf-8")


def _show(columns: dict[int, dict[str, float]]) -> None:
    sizes = list(columns)
    table = Table("", *(f"{size:,}" for size in sizes), "exponent")
    for name in columns[sizes[-1]]:
        values = [columns[size].get(name) for size in sizes]
        table.add_row(name, *("" if value is None else f"{value:.4g}" for value in values), _exponent(sizes, values))
    show(table)


def _exponent(sizes: list[int], values: list[float | None]) -> str:
    first, last = values[0], values[-1]
    if len(sizes) < 2 or not first or not last:
        return ""
    return f"{log(last / first) / log(sizes[-1] / sizes[0]):.2f}"

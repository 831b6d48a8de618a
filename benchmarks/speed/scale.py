"""The command that measures indexes of very many chunks: stages of the build, disk, recall, queries and an update."""

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
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer
from rich.table import Table

from benchmarks.machine import describe, peak_memory
from benchmarks.measurement import RESULTS, command, make_results_folder, positive_numbers, show
from benchmarks.speed.material import QUERIES, Material, of_pairs, search_queries
from benchmarks.speed.runs import in_process
from benchmarks.speed.searching import MODES, percentiles
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.errors import InputError
from cdesearch.progress import Silent
from cdesearch.search.fusion import OVERSAMPLE
from cdesearch.search.nearest import nearest_chunks
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vector_format import DEFAULT, KINDS, VectorKind
from indexer.build import build
from indexer.settings import Options

K = 10
CHUNKS_PER_FILE = 10
CHANGED = 1_000  # documents of the update
LEAST_RESEMBLED = 1_000  # chunks, below which neighbours are far apart
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
    pairs: Annotated[
        Path | None,
        typer.Option(help="Folder of pair files to draw the sentences and the queries from; default: CORPUS."),
    ] = None
    like: Annotated[
        Path | None,
        typer.Option(
            help="Index of many texts, to whose vectors those drawn are similar, so that recall means something."
        ),
    ] = None
    folder: Annotated[
        Path | None, typer.Option(help="Where the indexes are made, and then removed; default: a temporary folder.")
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def scale(settings: ScaleSettings) -> None:
    """Measure indexes of drawn texts and vectors, each stage in a process of its own.

    The last column is the exponent with which a cost grows from the first size to the last: 1 is linear.
    """
    corpus, pairs, like, kind = settings.corpus, settings.pairs, settings.like, settings.vectors
    if kind not in KINDS:
        raise InputError(f"There is no kind of vectors {kind}.", f"Name one of {', '.join(KINDS)}.")
    counts = [int(number) for number in positive_numbers(settings.sizes, "--sizes")]
    n_like = None if like is None else _of_many(like)
    queries, sentences = (search_queries(corpus), None) if pairs is None else of_pairs(pairs, QUERIES)
    if pairs is not None and not (queries and sentences):
        raise InputError(f"{pairs} has no pairs with sentences.", "Name another folder of pair files.")
    make_results_folder(settings.out)
    machine = describe()
    columns: dict[int, dict[str, float]] = {}
    for size in counts:
        with tempfile.TemporaryDirectory(dir=settings.folder) as name:
            source = like or source_index(corpus, Path(name) / "source")
            material, work = Material(source.resolve(), sentences, resembles=like is not None), Path(name) / "folder"
            columns[size] = {}
            stages = ((_built, (material, work, size, kind)), (_searched, (work, queries)), (_updated, (work,)))
            for stage, given in stages:
                figures = in_process(stage, *given)
                print(f"{size:,} chunks, {stage.__name__[1:]}: {figures}", file=sys.stderr)
                columns[size] |= figures
    _show(columns)
    file = settings.out / f"scale-{kind}-{machine['date']}-{machine['commit']}.json"
    texts = {"corpus": corpus.name, "sentences": (pairs or corpus).name, "like": n_like, "sizes": columns}
    file.write_text(json.dumps({"machine": machine, **texts}, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {file}")


def _of_many(like: Path) -> int:
    """The number of chunks of an index; raises InputError if it has few, and IndexStateError."""
    n_chunks = Index(like).manifest.n_chunks
    if n_chunks < LEAST_RESEMBLED:
        raise InputError(
            f"The index {like} has {n_chunks:,} chunks.", f"Name an index of at least {LEAST_RESEMBLED:,} with --like."
        )
    return n_chunks


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
    """Milliseconds of queries in each mode, memory, and the recall of the nearest chunks."""
    index = Index(folder / ".cdesearch")
    figures: dict[str, float] = {}
    with Searcher(index) as searcher:
        for mode in MODES:
            found = percentiles(partial(searcher.search, k=K, mode=mode), queries)
            figures |= {f"{mode} {name}, ms": value for name, value in found.items()}
        figures["memory to search, GB"] = peak_memory() / 1e9
        vectors = searcher.encoder.encode_each(queries, "query", index.context)
    shares = [len(_nearest(index, one) & right) / K for one, right in zip(vectors, _exact(index, vectors), strict=True)]
    return figures | {"recall@10": float(np.mean(shares))}


def _nearest(index: Index, vector: Floats) -> set[int]:
    """The first rows of those that a hybrid search reads."""
    return set(nearest_chunks(index, vector, OVERSAMPLE * K, None, ()).rows[:K].tolist())


def _exact(index: Index, vectors: Floats) -> list[set[int]]:
    """The rows whose stored vectors have the highest cosines with each of `vectors` (Q, d), from all of them."""
    scores, rows = np.empty((len(vectors), 0)), np.empty((len(vectors), 0), np.uint64)
    for batch in index.chunks.to_lance().to_batches(columns=index.vectors.columns, with_row_id=True):
        cosines = vectors @ to_unit(index.vectors.decode(batch)).T
        ids = np.broadcast_to(batch["_rowid"].to_numpy(), cosines.shape)
        scores, rows = np.concatenate([scores, cosines], axis=1), np.concatenate([rows, ids], axis=1)
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        scores, rows = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
    return [set(row.tolist()) for row in rows]


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

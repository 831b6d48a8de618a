"""Run one stage of `benchmarks scale` in a process of its own, which prints its figures as a JSON line.

python -m benchmarks.speed.scale_process build|search|update WORK VECTORS FILES CHUNKS_PER_FILE
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.machine import peak_memory
from benchmarks.speed.sentences import SENTENCES
from benchmarks.speed.synthetic import LIKE, SOURCE_INDEX, Material, grow_folder
from cdesearch.cli.exits import run_and_exit
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.progress import Silent
from cdesearch.search import nearest
from cdesearch.search.fusion import OVERSAMPLE
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vector_format import VectorKind
from indexer.build import build
from indexer.settings import Options

K = 10
WARM_UP = 10
CHANGED = 1_000  # documents of the update
SHARES = (2, 5, 7, 10, 14, 20, 50)  # of an index with parts, one in so many is searched


def _build(folder: Path, vectors: VectorKind, n_files: int, chunks_per_file: int) -> dict[str, float]:
    """Draw the files and their index; seconds by stage, memory, and bytes on disk by part."""
    work = folder.parent
    sentences = json.loads((work / SENTENCES).read_text(encoding="utf-8")) if (work / SENTENCES).exists() else None
    like = work / LIKE
    resembles = like.exists()
    source = Index(Path(like.read_text(encoding="utf-8")) if resembles else work / "source" / SOURCE_INDEX)
    started = time.perf_counter()
    with _timed_calls() as seconds:
        index = grow_folder(Material(source, sentences, resembles), folder, n_files, chunks_per_file, vectors)
    everything = time.perf_counter() - started
    figures = {f"{stage}, s": spent for stage, spent in seconds.items()}
    figures["drawing and checksums, s"] = everything - sum(seconds.values())
    figures["memory to build, GB"] = peak_memory() / 1e9
    return figures | _disk(index)


@contextmanager
def _timed_calls() -> Iterator[dict[str, float]]:
    """Measure the seconds that the table spends on each kind of change."""
    from lancedb.table import LanceTable

    seconds: dict[str, float] = defaultdict(float)

    def timed(name: Callable[[Sequence[Any]], str], method: Callable[..., Any]) -> Callable[..., Any]:
        def call(table: Any, *given: Any, **options: Any) -> Any:
            started = time.perf_counter()
            result = method(table, *given, **options)
            seconds[name(given)] += time.perf_counter() - started
            return result

        return call

    names: dict[str, Callable[[Sequence[Any]], str]] = {
        "add": lambda _: "writing chunks",
        "optimize": lambda _: "joining files",
        "create_index": lambda given: "indexing words" if given[0] == "text" else "indexing vectors",
    }
    patches = [patch.object(LanceTable, name, timed(names[name], getattr(LanceTable, name))) for name in names]
    for one in patches:
        one.start()
    try:
        yield seconds
    finally:
        for one in patches:
            one.stop()


def _disk(index: Index) -> dict[str, float]:
    table = next(index.folder.rglob("chunks.lance"))
    parts = {"texts and vectors": table / "data", "search indexes": table / "_indices", "index": index.folder}
    return {
        f"{name}, GB": sum(file.stat().st_size for file in part.rglob("*") if file.is_file()) / 1e9
        for name, part in parts.items()
    }


def _search(folder: Path, queries: Sequence[str]) -> dict[str, float]:
    """Milliseconds of hybrid and dense queries, memory, and recall and milliseconds by the number of parts searched."""
    index = Index(folder / ".cdesearch")
    figures: dict[str, float] = {}
    with Searcher(index) as searcher:
        for mode in ("hybrid", "dense", "text"):
            searcher.search(queries[0], mode=mode)
            took, processor = _milliseconds(partial(searcher.search, k=K, mode=mode), queries)
            for name, milliseconds in ((mode, took), (f"{mode} processor", processor)):
                figures |= {
                    f"{name} p50, ms": median(milliseconds),
                    f"{name} p95, ms": quantiles(milliseconds, n=20)[-1],
                }
            figures[f"{mode} processor mean, ms"] = mean(processor)
        figures["memory to search, GB"] = peak_memory() / 1e9
        vectors = searcher.encoder.encode_each(queries, "query", index.context)
    exact = _exact(index, vectors)
    n_chunks = index.manifest.n_chunks
    has_parts = index.vectors.has_bits or index.has_rotated_signs
    searched = {"as it is": nearest.parts_to_search(n_chunks, is_rotated=index.has_rotated_signs)}
    if has_parts:
        n_parts = n_chunks // nearest.chunks_per_part(n_chunks)
        searched |= {f"one part in {share} searched": max(1, n_parts // share) for share in SHARES}
    for label, parts in searched.items():
        with patch.object(nearest, "parts_to_search", lambda *_, parts=parts, **__: parts):
            took, _ = _milliseconds(partial(_nearest, index), list(vectors))
            found = [_nearest(index, vector) for vector in vectors]
        recall = [len(ids & right) / K for ids, right in zip(found, exact, strict=True)]
        figures |= {f"{label}: recall@10": float(np.mean(recall)), f"{label}: p50, ms": median(took)}
    return figures


def _milliseconds(call: Callable[[Any], Any], given: Sequence[Any]) -> tuple[list[float], list[float]]:
    """The milliseconds of a call with each of `given`, and those of the processors, after a warm-up with the first."""
    took, processor = [], []
    for one in [*given[:WARM_UP], *given]:
        started, worked = time.perf_counter(), time.process_time()
        call(one)
        took.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - worked))
    return took[WARM_UP:], processor[WARM_UP:]


def _nearest(index: Index, vector: Floats) -> set[int]:
    """The first rows of those that a hybrid search reads."""
    return set(nearest.nearest_chunks(index, vector, OVERSAMPLE * K, None, ()).rows[:K].tolist())


def _exact(index: Index, vectors: Floats) -> list[set[int]]:
    """The rows whose stored vectors have the highest cosines with each of `vectors` (Q, d), from all of them."""
    scores, rows = np.empty((len(vectors), 0)), np.empty((len(vectors), 0), np.uint64)
    batches = index.chunks.to_lance().to_batches(columns=index.vectors.columns, with_row_id=True)
    for batch in batches:
        cosines = vectors @ to_unit(index.vectors.decode(batch)).T
        ids = np.broadcast_to(batch["_rowid"].to_numpy(), cosines.shape)
        scores, rows = np.concatenate([scores, cosines], axis=1), np.concatenate([rows, ids], axis=1)
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        scores, rows = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
    return [set(row.tolist()) for row in rows]


def _update(folder: Path) -> dict[str, float]:
    """Seconds of updates in which 1,000 files got a text of one chunk, and memory.

    The files of the first update are in as many folders as possible, and it looks at every file. Those of the second
    one follow each other, and it is told which they are, as by `cdesearch watch`.
    """
    files = sorted(folder.glob("[0-9]*/*.txt"))
    apart, together = files[:: max(1, len(files) // CHANGED)][:CHANGED], files[:CHANGED]
    figures = {}
    for name, changed, told in (("update", apart, None), ("update by watch", together, frozenset(together))):
        _change(changed)
        started = time.perf_counter()
        build([], Options(index=folder / ".cdesearch", changed=told), Silent())
        figures[f"{name} of {CHANGED:,} files, s"] = time.perf_counter() - started
    return figures | {"memory to update, GB": peak_memory() / 1e9}


def _change(files: Iterable[Path]) -> None:
    for file in files:
        first = file.read_text(encoding="utf-8").partition("\n\n")[0]
        file.write_text(f"Changed at {time.time()}. {first}", encoding="utf-8")


def _main(stage: str, work: Path, vectors: Any, n_files: int, chunks_per_file: int) -> dict[str, float]:
    folder = work / "folder"
    if stage == "build":
        return _build(folder, vectors, n_files, chunks_per_file)
    if stage == "search":
        return _search(folder, json.loads((work / "queries.json").read_text(encoding="utf-8")))
    return _update(folder)


if __name__ == "__main__":
    run_and_exit(
        lambda: print(
            json.dumps(_main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
        )
    )

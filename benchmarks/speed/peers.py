"""The command that compares cdesearch with other systems, each in a process of its own, on the same texts."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, show
from benchmarks.speed.indexing import corpus_file
from benchmarks.speed.peer_process import DEFAULT_PEERS, PEERS, REDUCED
from benchmarks.speed.synthetic import SOURCE_INDEX, reduced_index, source_index, write_drawn
from cdesearch.errors import InputError
from cdesearch.store.index import Index
from trainer.data.pairs.beir import read_queries, read_texts

COLUMNS = ("index_s", "index_gb", "disk_mb", "p50_ms", "p95_ms", "search_gb", "cold_s")
DRAWN = {
    "index_s": "seconds to index",
    "p50_ms": "milliseconds a query, median",
    "search_gb": "gigabytes of memory to search",
    "disk_mb": "megabytes on disk",
}
COLD_RUNS = 3
QUERIES = 110
WORDS = 200  # of each text, about one chunk


def peers(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder to take texts and queries from.")],
    sizes: Annotated[
        str, typer.Option(help="Numbers of texts, separated by commas; the chart shows how each cost grows.")
    ] = "1000",
    vectors: Annotated[
        Literal["own", "drawn"],
        typer.Option(help="Embed the texts, or draw synthetic vectors, which allows large sizes."),
    ] = "own",
    only: Annotated[
        str, typer.Option(help=f"Systems, separated by commas. All: {', '.join(PEERS)}.", show_default=False)
    ] = ",".join(DEFAULT_PEERS),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the picture.")] = RESULTS,
) -> None:
    """Measure index time, disk, memory, and warm and cold queries of cdesearch and of other systems."""
    chosen = only.split(",")
    if unknown := [peer for peer in chosen if peer not in PEERS]:
        raise InputError(f"There is no system {', '.join(unknown)}.", f"Name some of {', '.join(PEERS)}.")
    make_results_folder(out)
    machine = describe()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        queries = work / "queries.json"
        queries.write_text(json.dumps(list(read_queries(corpus).values())[:QUERIES]), encoding="utf-8")
        for size in map(int, sizes.split(",")):
            texts = _drawn(corpus, work, size) if vectors == "drawn" else _texts(corpus, work / f"{size}.jsonl", size)
            for peer in chosen:
                rows.append({"system": peer, "texts": size} | _measured(peer, texts, queries, work / "peer"))
                shutil.rmtree(work / "peer")
                print(f"{peer}, {size:,} texts: indexed in {rows[-1]['index_s']:.3g} s", file=sys.stderr)
    _show(rows)
    file = out / f"peers-{vectors}-{machine['date']}-{machine['commit']}.json"
    record = {"machine": machine, "corpus": corpus.name, "vectors": vectors, "rows": rows}
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    _draw(rows, file.with_suffix(".svg"))
    print(f"Written to {file} and {file.with_suffix('.svg').name}")


def _drawn(corpus: Path, work: Path, n: int) -> Path:
    """A folder with `n` texts drawn from an index of the corpus. Such indexes of all dimensions are beside it."""
    if not (work / "source").exists():
        source_index(corpus, work / "source")
        reduced_index(work / "source", REDUCED)
    write_drawn(Index(work / "source" / SOURCE_INDEX), work / f"drawn-{n}", n)
    return work / f"drawn-{n}"


def _texts(corpus: Path, out: Path, n: int) -> Path:
    """A file with `n` texts of the corpus. If it has fewer, they are repeated with a number added."""
    texts = list(read_texts(corpus_file(corpus)).values())
    with out.open("w", encoding="utf-8") as file:
        for number in range(n):
            again = f" {number // len(texts)}" if number >= len(texts) else ""
            words = texts[number % len(texts)].split()[:WORDS]
            file.write(json.dumps({"_id": str(number), "text": " ".join(words) + again}) + "\n")
    return out


def _measured(peer: str, texts: Path, queries: Path, folder: Path) -> dict[str, float]:
    """Measure building, searching and cold queries, each in a process of its own."""
    figures = _stage(peer, "build", folder, texts) | _stage(peer, "search", folder, queries)
    cold = []
    for _ in range(COLD_RUNS):
        started = time.perf_counter()
        _stage(peer, "cold", folder, queries)
        cold.append(time.perf_counter() - started)
    return figures | {"cold_s": median(cold)}


def _stage(peer: str, stage: str, folder: Path, given: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.speed.peer_process", peer, stage, str(folder), str(given)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table("", "texts", *COLUMNS)
    for row in rows:
        table.add_row(row["system"], f"{row['texts']:,}", *(f"{row[name]:.3g}" for name in COLUMNS))
    show(table)


def _draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw each cost by the number of texts, on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for axes, (cost, label) in zip(grid.flat, DRAWN.items(), strict=True):
        for system in dict.fromkeys(row["system"] for row in rows):
            points = [(row["texts"], row[cost]) for row in rows if row["system"] == system]
            axes.loglog(*zip(*points, strict=True), marker="o", label=system)
        axes.set_xlabel("texts")
        axes.set_ylabel(label)
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.savefig(file)
    plt.close(figure)

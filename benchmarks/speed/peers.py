"""The command that compares cdesearch with other systems, each in a process of its own, on the same texts."""

import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, positive_numbers, show
from benchmarks.speed.peer_systems import DEFAULT_PEERS, PEERS, built, searched
from benchmarks.speed.runs import in_process, timed
from benchmarks.speed.synthetic import Material, corpus_file, search_queries, source_index, write_drawn
from cdesearch.errors import InputError
from trainer.data.pairs.beir import read_texts

COLUMNS = ("index_s", "index_gb", "disk_mb", "p50_ms", "p95_ms", "search_gb", "cold_s")
COLD_RUNS = 3
QUERIES = 110
WORDS = 200  # of each text, about one chunk


def peers(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder to take texts and queries from.")],
    sizes: Annotated[str, typer.Option(help="Numbers of texts, separated by commas.")] = "1000",
    vectors: Annotated[
        Literal["own", "drawn"],
        typer.Option(help="Embed the texts, or draw synthetic vectors, which allows large sizes."),
    ] = "own",
    only: Annotated[
        str, typer.Option(help=f"Systems, separated by commas. All: {', '.join(PEERS)}.", show_default=False)
    ] = ",".join(DEFAULT_PEERS),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure index time, disk, memory, and warm and cold queries of cdesearch and of other systems."""
    chosen = only.split(",")
    if unknown := [peer for peer in chosen if peer not in PEERS]:
        raise InputError(f"There is no system {', '.join(unknown)}.", f"Name some of {', '.join(PEERS)}.")
    make_results_folder(out)
    machine = describe()
    queries = search_queries(corpus)[:QUERIES]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = source_index(corpus, work / "source") if vectors == "drawn" else None
        for size in map(int, positive_numbers(sizes, "--sizes")):
            drawn = work / f"drawn-{size}"
            if source is None:
                texts, given = _texts(corpus, work / f"{size}.jsonl", size), None
            else:
                write_drawn(Material(source), drawn, size)
                texts, given = drawn / "texts.jsonl", drawn / "vectors.npy"
            for peer in chosen:
                rows.append({"system": peer, "texts": size} | _measured(peer, texts, given, queries, work / "peer"))
                shutil.rmtree(work / "peer")
                print(f"{peer}, {size:,} texts: indexed in {rows[-1]['index_s']:.3g} s", file=sys.stderr)
    table = Table("", "texts", *COLUMNS)
    for row in rows:
        table.add_row(row["system"], f"{row['texts']:,}", *(f"{row[name]:.3g}" for name in COLUMNS))
    show(table)
    file = out / f"peers-{vectors}-{machine['date']}-{machine['commit']}.json"
    record = {"machine": machine, "corpus": corpus.name, "vectors": vectors, "rows": rows}
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"Written to {file}")


def _texts(corpus: Path, out: Path, n: int) -> Path:
    """A file with `n` texts of the corpus. If it has fewer, they are repeated with a number added."""
    texts = list(read_texts(corpus_file(corpus)).values())
    with out.open("w", encoding="utf-8") as file:
        for number in range(n):
            again = f" {number // len(texts)}" if number >= len(texts) else ""
            words = texts[number % len(texts)].split()[:WORDS]
            file.write(json.dumps({"_id": str(number), "text": " ".join(words) + again}) + "\n")
    return out


def _measured(peer: str, texts: Path, vectors: Path | None, queries: list[str], folder: Path) -> dict[str, float]:
    """Measure building, searching, and a query as a whole process."""
    figures = in_process(built, peer, texts, vectors, folder) | in_process(searched, peer, folder, queries)
    cold = [timed(partial(in_process, searched, peer, folder, queries[:1])) for _ in range(COLD_RUNS)]
    return figures | {"cold_s": median(cold)}

"""The command that measures indexing, searching, memory and disk against their targets."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, measure, positive_numbers
from benchmarks.speed.indexing import context_measurements, index_measurements, memory_measurements
from benchmarks.speed.searching import cold_measurements, search_measurements
from benchmarks.speed.serving import Load, serving_measurements
from benchmarks.speed.updating import update_measurements
from benchmarks.systems.biencoder import installed_minilm

SUITES = "index,context,search,memory,serving,cold,update"


def speed(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")],
    biencoder: Annotated[Path | None, typer.Option(help="all-MiniLM-L6-v2 folder; default: the installed one.")] = None,
    documents: Annotated[int, typer.Option(help="Documents to index against sentence-transformers.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Alternating rounds; the result is their median.")] = 3,
    sizes: Annotated[str, typer.Option(help="Chunks of the search indexes.")] = "10000,100000",
    chunks: Annotated[
        int, typer.Option(help="Chunks of the index that is served and updated, and whose memory is measured.")
    ] = 100_000,
    seconds: Annotated[float, typer.Option(help="How long clients ask the server.")] = 600,
    rate: Annotated[float, typer.Option(help="How many searches a second they ask for.")] = 50,
    only: Annotated[str, typer.Option(help=f"Any of {SUITES}.")] = SUITES,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure indexing, context, search, memory, disk and a server against their targets."""
    counts = [int(size) for size in positive_numbers(sizes, "--sizes")]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Measurement]]] = {
            "index": lambda: index_measurements(corpus, biencoder or installed_minilm(), work, documents, rounds),
            "context": partial(context_measurements, corpus, rounds),
            "search": partial(search_measurements, corpus, work, counts),
            "memory": partial(memory_measurements, corpus, work, chunks),
            "serving": partial(serving_measurements, corpus, work, chunks, Load(rate, seconds)),
            "cold": partial(cold_measurements, corpus, work, chunks),
            "update": partial(update_measurements, corpus, work, chunks),
        }
        settings = {"corpus": corpus.name, "documents": documents, "rounds": rounds, "chunks": chunks}
        measure("speed", chosen(suites, only), settings | {"seconds": seconds, "rate": rate}, out)

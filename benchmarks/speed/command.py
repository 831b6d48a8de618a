"""The command that measures indexing, searching and a server against their targets."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, command, measure, positive_numbers
from benchmarks.speed.indexing import index_measurements
from benchmarks.speed.searching import cold_measurements, search_measurements
from benchmarks.speed.serving import Load, serving_measurements
from benchmarks.systems.biencoder import installed_minilm

SUITES = "index,search,serving,cold"


@dataclass(frozen=True, slots=True)
class SpeedSettings:
    """The options of `speed`."""

    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")]
    biencoder: Annotated[Path | None, typer.Option(help="all-MiniLM-L6-v2 folder; default: the installed one.")] = None
    documents: Annotated[int, typer.Option(help="Documents to index against sentence-transformers.")] = 1000
    rounds: Annotated[int, typer.Option(help="Alternating rounds; the result is their median.")] = 3
    sizes: Annotated[str, typer.Option(help="Chunks of the search indexes.")] = "10000,100000"
    chunks: Annotated[int, typer.Option(help="Chunks of the index that is served.")] = 100_000
    seconds: Annotated[float, typer.Option(help="How long clients ask the server.")] = 600
    rate: Annotated[float, typer.Option(help="How many searches a second they ask for.")] = 50
    only: Annotated[str, typer.Option(help=f"Any of {SUITES}.")] = SUITES
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def speed(settings: SpeedSettings) -> None:
    """Measure indexing, search and a server against their targets."""
    corpus, chunks, rounds = settings.corpus, settings.chunks, settings.rounds
    counts = [int(size) for size in positive_numbers(settings.sizes, "--sizes")]
    minilm = settings.biencoder or installed_minilm()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Measurement]]] = {
            "index": partial(index_measurements, corpus, minilm, work, settings.documents, rounds),
            "search": partial(search_measurements, corpus, work, counts),
            "serving": partial(serving_measurements, corpus, work, chunks, Load(settings.rate, settings.seconds)),
            "cold": partial(cold_measurements, corpus, work, chunks),
        }
        named = ("documents", "rounds", "chunks", "seconds", "rate")
        shown = {"corpus": corpus.name, **{name: getattr(settings, name) for name in named}}
        measure("speed", chosen(suites, settings.only), shown, settings.out)

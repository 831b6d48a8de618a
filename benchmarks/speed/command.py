"""The command that measures a server, and queries as whole processes, against their targets."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, command, measure
from benchmarks.speed.searching import cold_measurements
from benchmarks.speed.serving import Load, serving_measurements

SUITES = "serving,cold"


@dataclass(frozen=True, slots=True)
class SpeedSettings:
    """The options of `speed`."""

    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")]
    chunks: Annotated[int, typer.Option(help="Chunks of the index that is served.")] = 100_000
    seconds: Annotated[float, typer.Option(help="How long clients ask the server.")] = 600
    rate: Annotated[float, typer.Option(help="How many searches a second they ask for.")] = 50
    only: Annotated[str, typer.Option(help=f"Any of {SUITES}.")] = SUITES
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def speed(settings: SpeedSettings) -> None:
    """Measure a server, and queries as whole processes, against their targets; `peers` and `scale` measure the rest."""
    corpus, chunks = settings.corpus, settings.chunks
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Measurement]]] = {
            "serving": partial(serving_measurements, corpus, work, chunks, Load(settings.rate, settings.seconds)),
            "cold": partial(cold_measurements, corpus, work, chunks),
        }
        named = ("chunks", "seconds", "rate")
        shown = {"corpus": corpus.name, **{name: getattr(settings, name) for name in named}}
        measure("speed", chosen(suites, settings.only), shown, settings.out)

"""The command that compares systems on BEIR folders."""

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.datasets.dataset import Dataset, Half, read_dataset
from benchmarks.datasets.download import fetched
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder
from benchmarks.measures import MEASURES, compare, measure_run
from benchmarks.quality.report import BeirReport, Row, summary
from benchmarks.systems.registry import SYSTEMS, Setting, check_systems

BASELINES = ("bm25", "minilm")
DEFAULT = "bm25,minilm,minilm+bm25,true,random,null,dense,hybrid"


def beir(
    data: Annotated[
        list[str], typer.Argument(help="BEIR folders (also under CDESEARCH_DATA), or official sets to download.")
    ],
    systems: Annotated[
        str,
        typer.Option(help=f"Any of {', '.join(SYSTEMS)}; the last two with a published --model as it is."),
    ] = DEFAULT,
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    biencoder: Annotated[
        Path | None,
        typer.Option(help="sentence-transformers folder; default: all-MiniLM-L6-v2."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Context samples of `true`, for a mean and a spread.")] = 1,
    half: Annotated[
        Half, typer.Option(help="Of the queries of each set: all, those to choose settings by, or those to report.")
    ] = "all",
    work: Annotated[Path, typer.Option(help="Folder for vectors and indexes, which later runs use again.")] = Path(
        "runs/beir"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the table.")] = RESULTS,
) -> None:
    """Compare systems on BEIR folders."""
    make_results_folder(out)
    datasets = [read_dataset(fetched(name, work / "data"), half) for name in data]
    names = systems.split(",")
    check_systems(names, len(datasets))
    rows: list[Row] = []
    for dataset, other in zip(datasets, [*datasets[1:], datasets[0]], strict=True):
        rows += _rows(dataset, names, Setting(model, biencoder, work, other), seeds)
    facts = {d.name: {"documents": len(d.ids), "queries": len(d.queries), "notes": d.notes} for d in datasets}
    report = BeirReport(describe(), f"python -m benchmarks {shlex.join(sys.argv[1:])}", facts, rows)
    report.show()
    for file in report.save(out):
        print(f"Written to {file}")


def _rows(dataset: Dataset, names: Sequence[str], setting: Setting, seeds: int) -> Iterator[Row]:
    """Run every system on one data set and print each result."""
    console = Console(stderr=True)
    console.print(f"{dataset.name}: {len(dataset.ids):,} documents, {len(dataset.queries):,} queries")
    for note in dataset.notes:
        console.print(f"  {note}")
    known: dict[str, NDArray[np.float64]] = {}
    for name in names:
        started = time.perf_counter()
        made = [SYSTEMS[name](replace(setting, seed=seed)) for seed in range(seeds if name == "true" else 1)]
        samples = [measure_run(dataset.judgements, system.retrieve(dataset)) for system in made]
        measured = {measure: np.mean([sample[measure] for sample in samples], axis=0) for measure in MEASURES}
        spread = float(np.ptp([sample["nDCG@10"].mean() for sample in samples]))
        known[name] = measured["nDCG@10"]
        others = [other for other in BASELINES if other in known and other != name]
        against = {other: compare(known[name], known[other]) for other in others}
        seconds = round(time.perf_counter() - started, 1)
        row = Row(dataset.name, made[0].name, summary(measured), against, len(samples), round(spread, 3), seconds)
        spread_text = f", spread {spread:.2f} over {len(samples)} samples" if len(samples) > 1 else ""
        console.print(f"  {row.system}: {row.measures['nDCG@10']:.2f}{spread_text} ({seconds:.0f} s)")
        yield row

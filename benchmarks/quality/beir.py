"""The command that compares systems on BEIR folders."""

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.comparison import compare
from benchmarks.datasets.dataset import Dataset, Half, read_dataset
from benchmarks.datasets.download import fetched
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder
from benchmarks.quality.measures import MEASURES, measure_run
from benchmarks.quality.report import BeirReport, Row, summary
from benchmarks.systems.biencoder import Biencoder, installed_minilm
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.fused import Fused
from benchmarks.systems.late_chunking import LateChunking
from benchmarks.systems.onnx import OnnxBiencoder, is_onnx_alone
from benchmarks.systems.product import Product
from benchmarks.systems.system import System
from benchmarks.systems.text import Bm25, LanceText
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError

BASELINES = ("bm25", "minilm")
DEFAULT = "bm25,minilm,minilm+bm25,true,random,null,dense,hybrid"

Makers = Sequence[Callable[[int], System]]  # each takes the position of the data set in the list


def beir(
    data: Annotated[
        list[str], typer.Argument(help="BEIR folders (also under CDESEARCH_DATA), or official sets to download.")
    ],
    systems: Annotated[
        str,
        typer.Option(
            help="Any of bm25, lance, minilm, minilm+bm25, late, true, random, null, document, text, dense, hybrid;"
            " plain-dense and plain-hybrid with a published --model as it is."
        ),
    ] = DEFAULT,
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    biencoder: Annotated[
        Path | None,
        typer.Option(help="sentence-transformers folder, of weights or of ONNX alone; default: all-MiniLM-L6-v2."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Context samples of `true`, for a mean and a spread.")] = 1,
    half: Annotated[
        Half, typer.Option(help="Of the queries of each set: all, those to choose settings by, or those to report.")
    ] = "all",
    work: Annotated[Path, typer.Option(help="Folder for vectors and indexes, which later runs use again.")] = Path(
        "runs/beir"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON, the table and the picture.")] = RESULTS,
) -> None:
    """Compare systems on BEIR folders."""
    make_results_folder(out)
    datasets = [read_dataset(fetched(name, work / "data"), half) for name in data]
    chosen = _chosen(systems.split(","), datasets, model, biencoder, seeds, work)
    rows = [row for position, dataset in enumerate(datasets) for row in _rows(dataset, position, chosen)]
    facts = {d.name: {"documents": len(d.ids), "queries": len(d.queries), "notes": d.notes} for d in datasets}
    report = BeirReport(describe(), f"python -m benchmarks {shlex.join(sys.argv[1:])}", facts, rows)
    report.show()
    for file in report.save(out):
        print(f"Written to {file}")


def _rows(dataset: Dataset, position: int, chosen: Mapping[str, Makers]) -> Iterator[Row]:
    """Run every system on one data set and print each result."""
    console = Console(stderr=True)
    console.print(f"{dataset.name}: {len(dataset.ids):,} documents, {len(dataset.queries):,} queries")
    for note in dataset.notes:
        console.print(f"  {note}")
    known: dict[str, NDArray[np.float64]] = {}
    for name, makers in chosen.items():
        started = time.perf_counter()
        made = [make(position) for make in makers]
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


def _chosen(
    names: Sequence[str],
    datasets: Sequence[Dataset],
    model: Path | None,
    biencoder: Path | None,
    seeds: int,
    work: Path,
) -> dict[str, Makers]:
    """By system name, functions that make the system, one for each context sample; raises InputError."""
    folder = biencoder or installed_minilm()
    made_by = OnnxBiencoder if is_onnx_alone(folder) else Biencoder
    plain = made_by(folder, work / "vectors", None if biencoder else "all-MiniLM-L6-v2")

    def contextual(kind: str, seed: int = 0) -> Callable[[int], System]:
        # The random context is that of the next data set.
        return lambda position: Contextual(
            load_encoder(model), work / "vectors", kind, datasets[(position + 1) % len(datasets)], seed
        )

    makers: dict[str, Callable[[int], System]] = {
        "bm25": lambda _: Bm25(),
        "lance": lambda _: LanceText(),
        "minilm": lambda _: plain,
        "minilm+bm25": lambda _: Fused(plain),
        "late": lambda _: LateChunking(plain, folder, work / "vectors"),
        **{kind: contextual(kind) for kind in ("true", "random", "null", "document")},
        "text": lambda _: Product(work, "text", model),
        "dense": lambda _: Product(work, "dense", model),
        "hybrid": lambda _: Product(work, "hybrid", model),
        "plain-dense": lambda _: Product(work, "dense", model, plain=True),
        "plain-hybrid": lambda _: Product(work, "hybrid", model, plain=True),
    }
    _check_names(names, list(makers), len(datasets))
    if "late" in names and made_by is OnnxBiencoder:
        raise InputError(
            f"{folder} has an ONNX export and no weights.", "Name a folder with weights for late chunking."
        )
    samples = [contextual("true", seed) for seed in range(seeds)]
    return {name: samples if name == "true" else [makers[name]] for name in names}


def _check_names(names: Sequence[str], known: Sequence[str], n_datasets: int) -> None:
    """Raise InputError if a system is unknown, or if `random` has no other data set to take its context from."""
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"There is no system {', '.join(unknown)}.", f"Name some of {', '.join(known)}.")
    if "random" in names and n_datasets < 2:
        raise InputError(
            "The context of `random` is that of another data set.", "Name two data sets, or leave `random` out."
        )

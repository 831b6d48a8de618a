"""The command that compares systems on BEIR folders, and stores the results as JSON and Markdown.

A system is added to SYSTEMS.
"""

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.datasets.dataset import Dataset, Half, beir_folder, read_dataset
from benchmarks.measurement import RESULTS, describe, make_results_folder
from benchmarks.measures import Comparison, compare, measure_run
from benchmarks.systems.dense import Contextual, MiniLm
from benchmarks.systems.product import Product
from benchmarks.systems.system import BenchmarkSystem
from benchmarks.systems.text import Bm25, Fused
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.search.options import Mode

MARKS = (
    "`+` `-` `=`: better, worse or neither, compared with BM25, then with the biencoder; p < .05, paired randomisation."
)
BASELINES = ("bm25", "minilm")
DEFAULT = "bm25,minilm,minilm+bm25,true,random,null,dense,hybrid"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a system is made from."""

    model: Path | None  # cdesearch checkpoint; None for the model that ships
    work: Path  # for vectors and indexes, which later runs use again
    other: Dataset  # from which `random` takes its context


def _contextual(kind: str, setting: Setting) -> Contextual:
    return Contextual(load_encoder(setting.model), setting.work / "vectors", kind, setting.other)


def _product(mode: Mode, setting: Setting, *, plain: bool = False) -> Product:
    return Product(setting.work, mode, setting.model, plain=plain)


SYSTEMS: Mapping[str, Callable[[Setting], BenchmarkSystem]] = {
    "bm25": lambda _: Bm25(),
    "minilm": lambda setting: MiniLm(setting.work / "vectors"),
    "minilm+bm25": lambda setting: Fused(MiniLm(setting.work / "vectors")),
    **{kind: partial(_contextual, kind) for kind in ("true", "random", "null", "document")},
    "text": partial(_product, "text"),
    "dense": partial(_product, "dense"),
    "hybrid": partial(_product, "hybrid"),
    "plain-dense": partial(_product, "dense", plain=True),
    "plain-hybrid": partial(_product, "hybrid", plain=True),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one system on one data set."""

    dataset: str
    system: str
    measures: Mapping[str, float]  # x 100
    against: Mapping[str, Comparison]  # from a baseline to the difference in nDCG@10
    seconds: float


def markdown(machine: Mapping[str, Any], command: str, datasets: Sequence[Dataset], rows: Sequence[Row]) -> str:
    """The table of all systems, and facts about the data."""
    names = [dataset.name for dataset in datasets]
    by_system: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_system.setdefault(row.system, {})[row.dataset] = row
    lines = [f"nDCG@10 x 100, {machine['date']}, commit {machine['commit']}.", ""]
    lines += [_line(["", *names, "mean", "mean R@100"]), _line(["---"] * (len(names) + 3))]
    for system, of in by_system.items():
        means = (sum(row.measures[name] for row in of.values()) / len(names) for name in ("nDCG@10", "R@100"))
        lines.append(_line([system, *(_cell(of[name]) for name in names), *(f"{mean:.1f}" for mean in means)]))
    lines += ["", MARKS]
    lines.append("")
    for one in datasets:
        notes = "".join(f"; {note}" for note in one.notes)
        lines.append(f"- {one.name}: {len(one.ids):,} documents, {len(one.queries):,} queries{notes}.")
    return "\n".join([*lines, "", f"Command: `{command}`", ""])


def _cell(row: Row) -> str:
    marks = ("=" if one.p >= 0.05 else "+" if one.difference > 0 else "-" for one in row.against.values())
    return f"{row.measures['nDCG@10']:.1f}{''.join(marks)}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def beir(
    data: Annotated[list[str], typer.Argument(help="BEIR folders, also under CDESEARCH_DATA.")],
    systems: Annotated[
        str, typer.Option(help=f"Any of {', '.join(SYSTEMS)}; the last two with a published --model as it is.")
    ] = DEFAULT,
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
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
    datasets = [read_dataset(beir_folder(name), half) for name in data]
    names = systems.split(",")
    if unknown := [name for name in names if name not in SYSTEMS]:
        raise InputError(f"There is no system {', '.join(unknown)}.", f"Name some of {', '.join(SYSTEMS)}.")
    if "random" in names and len(datasets) < 2:
        cause = "The context of `random` is that of another data set."
        raise InputError(cause, "Name two data sets, or leave `random` out.")
    rows: list[Row] = []
    for dataset, other in zip(datasets, [*datasets[1:], datasets[0]], strict=True):
        rows += _rows(dataset, names, Setting(model, work, other))
    machine, command = describe(), f"python -m benchmarks {shlex.join(sys.argv[1:])}"
    facts = {d.name: {"documents": len(d.ids), "queries": len(d.queries), "notes": d.notes} for d in datasets}
    record = {"machine": machine, "command": command, "datasets": facts, "rows": [asdict(row) for row in rows]}
    written = {"json": json.dumps(record, indent=1) + "\n", "md": markdown(machine, command, datasets, rows)}
    print(written["md"])
    for suffix, text in written.items():
        file = out / f"beir-{machine['date']}-{machine['commit']}.{suffix}"
        file.write_text(text, encoding="utf-8")
        print(f"Written to {file}")


def _rows(dataset: Dataset, names: Sequence[str], setting: Setting) -> Iterator[Row]:
    """Run every system on one data set and print each result."""
    console = Console(stderr=True)
    console.print(f"{dataset.name}: {len(dataset.ids):,} documents, {len(dataset.queries):,} queries")
    for note in dataset.notes:
        console.print(f"  {note}")
    known: dict[str, NDArray[np.float64]] = {}
    for name in names:
        started = time.perf_counter()
        system = SYSTEMS[name](setting)
        measured = measure_run(dataset.judgements, system.retrieve(dataset))
        known[name] = measured["nDCG@10"]
        others = [other for other in BASELINES if other in known and other != name]
        against = {other: compare(known[name], known[other]) for other in others}
        seconds = round(time.perf_counter() - started, 1)
        means = {measure: round(float(values.mean()), 3) for measure, values in measured.items()}
        row = Row(dataset.name, system.name, means, against, seconds)
        console.print(f"  {row.system}: {row.measures['nDCG@10']:.2f} ({seconds:.0f} s)")
        yield row

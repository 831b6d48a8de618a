"""The command that compares systems on BEIR folders, and stores the results as JSON and Markdown."""

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.datasets.dataset import Dataset, Half, beir_folder, read_dataset
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder
from benchmarks.measures import MEASURES, Comparison, compare, measure_run
from benchmarks.systems.registry import SYSTEMS, Setting, check_systems

MARKS = (
    "`+` `-` `=`: better, worse or neither, compared with BM25, then with the biencoder; p < .05, paired randomisation."
)
BASELINES = ("bm25", "minilm")
DEFAULT = "bm25,minilm,minilm+bm25,true,random,null,dense,hybrid"


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one system on one data set."""

    dataset: str
    system: str
    measures: Mapping[str, float]  # x 100
    against: Mapping[str, Comparison]  # from a baseline to the difference in nDCG@10
    samples: int  # the number of context samples; measures are their mean
    spread: float  # of nDCG@10 over the samples: the highest minus the lowest
    seconds: float


@dataclass(frozen=True, slots=True)
class BeirReport:
    """The results of a whole run."""

    machine: Mapping[str, Any]
    command: str
    datasets: Mapping[str, Mapping[str, Any]]  # from a name to sizes and notes
    rows: Sequence[Row]

    def save(self, folder: Path) -> list[Path]:
        """Write JSON and Markdown into a folder that exists, named by date and commit; returns the files."""
        stem = f"beir-{self.machine['date']}-{self.machine['commit']}"
        files = [folder / f"{stem}.json", folder / f"{stem}.md"]
        files[0].write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        files[1].write_text(self.markdown(), encoding="utf-8")
        return files

    def markdown(self) -> str:
        """The table, and facts about the data."""
        names = list(self.datasets)
        lines = [f"nDCG@10 x 100, {self.machine['date']}, commit {self.machine['commit']}.", ""]
        lines += [_line(["", *names, "mean", "mean R@100"]), _line(["---"] * (len(names) + 3))]
        for system in self._systems():
            cells = [self._cell(system, name) for name in names]
            lines.append(_line([system, *cells, self._mean(system, "nDCG@10"), self._mean(system, "R@100")]))
        lines += ["", MARKS, *self._spreads(), ""]
        for name, facts in self.datasets.items():
            notes = "".join(f"; {note}" for note in facts["notes"])
            lines.append(f"- {name}: {facts['documents']:,} documents, {facts['queries']:,} queries{notes}.")
        return "\n".join([*lines, "", f"Command: `{self.command}`", ""])

    def _spreads(self) -> list[str]:
        sampled = [row for row in self.rows if row.samples > 1]
        if not sampled:
            return []
        shown = ", ".join(f"{row.dataset} {row.spread:.2f}" for row in sampled)
        return [
            "",
            f"{sampled[0].system}: mean of {sampled[0].samples} context samples; they differ by at most {shown}.",
        ]

    def _systems(self) -> list[str]:
        return list(dict.fromkeys(row.system for row in self.rows))

    def _row(self, system: str, dataset: str) -> Row | None:
        return next((row for row in self.rows if (row.system, row.dataset) == (system, dataset)), None)

    def _cell(self, system: str, dataset: str) -> str:
        row = self._row(system, dataset)
        if row is None:
            return ""
        marks = "".join(_mark(comparison) for comparison in row.against.values())
        return f"{row.measures['nDCG@10']:.1f}{marks}"

    def _mean(self, system: str, measure: str) -> str:
        rows = [self._row(system, name) for name in self.datasets]
        known = [row.measures[measure] for row in rows if row is not None]
        return f"{sum(known) / len(known):.1f}" if len(known) == len(rows) else ""


def summary(measured: Mapping[str, Any]) -> dict[str, float]:
    """The mean of each measure over the queries."""
    return {name: round(float(measured[name].mean()), 3) for name in MEASURES}


def _mark(comparison: Comparison) -> str:
    if comparison.p >= 0.05:
        return "="
    return "+" if comparison.difference > 0 else "-"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def beir(
    data: Annotated[list[str], typer.Argument(help="BEIR folders, also under CDESEARCH_DATA.")],
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
    datasets = [read_dataset(beir_folder(name), half) for name in data]
    names = systems.split(",")
    check_systems(names, len(datasets))
    rows: list[Row] = []
    for dataset, other in zip(datasets, [*datasets[1:], datasets[0]], strict=True):
        rows += _rows(dataset, names, Setting(model, biencoder, work, other), seeds)
    facts = {d.name: {"documents": len(d.ids), "queries": len(d.queries), "notes": d.notes} for d in datasets}
    report = BeirReport(describe(), f"python -m benchmarks {shlex.join(sys.argv[1:])}", facts, rows)
    print(report.markdown())
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

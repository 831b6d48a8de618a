"""Show the results of a comparison on the terminal, and store them as JSON and Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.measurement import show
from benchmarks.measures import MEASURES, Comparison

MARKS = (
    "`+` `-` `=`: better, worse or neither, compared with BM25, then with the biencoder; p < .05, paired randomisation."
)


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

    def show(self) -> None:
        """Print the table on the terminal."""
        names = list(self.datasets)
        table = Table("nDCG@10 x 100", *names, "mean", "mean R@100")
        for system in self._systems():
            cells = [self._cell(system, name) for name in names]
            table.add_row(system, *cells, self._mean(system, "nDCG@10"), self._mean(system, "R@100"))
        show(table)
        print(f"Command: {self.command}")

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
        lines += [_line(["", *names, "mean"]), _line(["---"] * (len(names) + 2))]
        for system in self._systems():
            cells = [self._cell(system, name) for name in names]
            lines.append(_line([system, *cells, self._mean(system, "nDCG@10")]))
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

"""Measured numbers, their targets, and the files that store them."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe
from cdesearch.errors import InputError
from trainer.replacing import make_folder

WIDE = 180
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured number, and the target that it should meet."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def bar(self) -> str:
        """The target as text; empty if there is none."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def passes(self) -> bool:
        """Whether the target is met; true if there is none."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def measure(
    kind: str, suites: Mapping[str, Callable[[], list[Measurement]]], settings: dict[str, Any], out: Path
) -> None:
    """Run every suite, show its measurements, and store them as JSON named by suite, date and commit."""
    machine = describe()
    make_results_folder(out)
    for name, suite in suites.items():
        measurements = suite()
        table = Table("measurement", "value", "unit", "target", "")
        for one in measurements:
            result = "" if not one.bar else "met" if one.passes else "missed"
            table.add_row(one.name, f"{one.value:,.3g}", one.unit, one.bar, result)
        show(table)
        record = {
            "machine": machine,
            "settings": settings,
            "figures": [asdict(measurement) for measurement in measurements],
        }
        file = out / f"{kind}-{name}-{machine['date']}-{machine['commit']}.json"
        file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        print(f"Written to {file}")


def make_results_folder(out: Path) -> None:
    """Create the folder of --out unless it exists; raises InputError if it is not a folder, and StorageError."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out is {out}, which is not a folder.", "Name a folder.")
    make_folder(out)


def show(table: Table) -> None:
    """Print a table; in a file or a pipe it is wide enough for all columns."""
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)

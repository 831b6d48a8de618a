"""Measured numbers with their targets, the machine that they are of, and the files that store them."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cdesearch.errors import InputError
from trainer.replacing import make_folder

WIDE = 180
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("cdesearch", "onnxruntime", "lancedb", "torch", "sentence-transformers", "tokenizers", "numpy")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured number, and the target that it should not exceed."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def measure(
    kind: str, suites: Mapping[str, Callable[[], list[Measurement]]], settings: dict[str, Any], out: Path
) -> None:
    """Run every suite, show its measurements, and store them as JSON named by suite, date and commit."""
    machine = describe()
    make_results_folder(out)
    for name, suite in suites.items():
        measurements = suite()
        table = Table("measurement", "value", "unit", "at most")
        for one in measurements:
            table.add_row(one.name, f"{one.value:,.3g}", one.unit, "" if one.at_most is None else f"{one.at_most:g}")
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


def describe() -> dict[str, Any]:
    """Processor, cores, versions and commit."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: _version(name) for name in PACKAGES},
        "commit": head.stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    wide = [name for name in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8") if name in flags]
    return f"{model} ({' '.join(wide)})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

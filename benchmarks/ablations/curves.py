"""The command that draws the held-out losses of several runs, finished or not."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, show
from cdesearch.errors import InputError
from trainer.run.log import read_log_file

CONTEXTS = ("true", "random", "null")


def curves(
    runs: Annotated[
        Path,
        typer.Argument(help="Folder of the runs, such as runs/ablation/context, or of copied logs, train-*.jsonl."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the figure.")] = RESULTS,
) -> None:
    """Draw and store the held-out losses of all runs in a folder, against steps and by context."""
    logs = {log.parent.name: log for log in sorted(runs.glob("*/log.jsonl"))}
    logs |= {log.stem.removeprefix("train-"): log for log in sorted(runs.glob("train-*.jsonl"))}
    found = {name: _held_out(log) for name, log in logs.items()}
    found = {name: rows for name, rows in found.items() if rows}
    if not found:
        raise InputError(f"No run in {runs} has a held-out loss.", "Name the folder that contains the folders of runs.")
    machine = describe()
    make_results_folder(out)
    file = out / f"curves-{runs.name}-{machine['date']}.json"
    file.write_text(json.dumps({"machine": machine, "runs": found}, indent=1) + "\n", encoding="utf-8")
    _draw(found, file.with_suffix(".svg"))
    table = Table("run", "step", *(f"{context} context" for context in CONTEXTS), title="held-out loss")
    for name, rows in found.items():
        for row in rows:
            table.add_row(name, str(row["step"]), *(f"{row[context]:.4f}" for context in CONTEXTS))
    show(table)


def _held_out(log: Path) -> list[dict[str, Any]]:
    return [{"step": line["step"], **line["held_out"]} for line in read_log_file(log) if "held_out" in line]


def _draw(runs: dict[str, list[dict[str, Any]]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    for panel, context in zip(figure.subplots(1, len(CONTEXTS), sharey=True), CONTEXTS, strict=True):
        for name, rows in runs.items():
            panel.plot([row["step"] for row in rows], [row[context] for row in rows], marker=".", label=name)
        panel.set(title=f"{context} context", xlabel="step")
    figure.axes[0].set_ylabel("held-out loss")
    figure.axes[0].legend(fontsize="small")
    figure.savefig(file)

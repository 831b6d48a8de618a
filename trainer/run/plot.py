"""Draw a chart of the log of a run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cdesearch.errors import InputError
from trainer.replacing import replacing, writing
from trainer.run.log import read_log

CHART = "run.svg"
SMOOTH = 0.9  # weight of the earlier steps in the running mean


def check_matplotlib() -> None:
    """Raise InputError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise InputError(
            "matplotlib is not installed, and --plot needs it.",
            "Run `pip install 'cdesearch[train]'`, or leave --plot out.",
        )


def draw_run(folder: Path) -> Path:
    """Write `run.svg` beside the log: loss and accuracy, and held-out losses by context."""
    with _no_settings_in_the_home_folder():
        return _draw(read_log(folder), folder / CHART)


@contextmanager
def _no_settings_in_the_home_folder() -> Iterator[None]:
    """Let matplotlib write its settings and fonts to a temporary folder, unless the user has chosen one."""
    if "MPLCONFIGDIR" in os.environ:
        yield
        return
    with TemporaryDirectory() as settings:
        os.environ["MPLCONFIGDIR"] = settings
        try:
            yield
        finally:
            del os.environ["MPLCONFIGDIR"]


def _draw(lines: list[dict[str, Any]], file: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    training, watched = figure.subplots(1, 2)
    _curve(training, "loss", _series(lines, "loss"), smooth=True)
    _curve(training, "accuracy", _series(lines, "accuracy"), smooth=True)
    training.set(title="Training batches", xlabel="step")
    for kind in ("true", "random", "null", "batch"):
        points = [(line["step"], line["held_out"][kind]) for line in lines if kind in line.get("held_out", ())]
        _curve(watched, f"{kind} context", points)
    watched.set(title="Held-out loss", xlabel="step")
    for panel in (training, watched):
        if panel.lines:
            panel.legend(fontsize="small")
    with writing(file), replacing(file) as stream:
        figure.savefig(stream, format="svg")
    return file


def _series(lines: list[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    return [(line["step"], line[name]) for line in lines if name in line]


def _curve(panel: Any, label: str, points: list[tuple[int, float]], *, smooth: bool = False) -> None:
    if not points:
        return
    steps, values = [step for step, _ in points], [value for _, value in points]
    if smooth:
        (faint,) = panel.plot(steps, values, alpha=0.25)
        mean, drawn = values[0], []
        for value in values:
            mean = SMOOTH * mean + (1 - SMOOTH) * value
            drawn.append(mean)
        panel.plot(steps, drawn, label=label, color=faint.get_color())
    else:
        panel.plot(steps, values, label=label, marker="." if len(points) < 50 else None)

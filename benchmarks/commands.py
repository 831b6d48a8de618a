"""All commands of the benchmarks. A benchmark is a function whose parameters are its options, listed in COMMANDS."""

import typer

from benchmarks.ablations.ablation import ablation
from benchmarks.figures.context import analyse
from benchmarks.folders.command import folders
from benchmarks.quality.ask import ask
from benchmarks.quality.beir import beir
from benchmarks.quality.choose import choose
from benchmarks.quality.confidence import confidence
from benchmarks.quality.several import several
from benchmarks.quality.staleness import staleness
from benchmarks.speed.command import speed
from benchmarks.speed.peers import peers
from benchmarks.speed.scale import scale

COMMANDS = (ablation, analyse, ask, beir, choose, confidence, folders, peers, scale, several, speed, staleness)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
for command in COMMANDS:
    app.command()(command)


@app.callback()
def _about() -> None:
    """Measure the quality and the cost of cdesearch and of other systems."""

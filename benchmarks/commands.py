"""All commands of the benchmarks."""

import typer

from benchmarks.ablations.ablation import ablation
from benchmarks.ablations.curves import curves
from benchmarks.figures.command import analyse
from benchmarks.folders.command import folders
from benchmarks.folders.names_command import names
from benchmarks.quality.adapted import adapted
from benchmarks.quality.ask import ask
from benchmarks.quality.beir import beir
from benchmarks.quality.choose import choose
from benchmarks.quality.confidence import confidence
from benchmarks.quality.lens import lens
from benchmarks.quality.several import several
from benchmarks.quality.staleness import staleness
from benchmarks.quality.tune import tune
from benchmarks.speed.command import speed
from benchmarks.speed.joint import joint_speed
from benchmarks.speed.peers import peers
from benchmarks.speed.scale import scale
from benchmarks.speed.simulation import simulation
from benchmarks.speed.training import train_speed

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(ablation)
app.command()(adapted)
app.command()(analyse)
app.command()(ask)
app.command()(beir)
app.command()(choose)
app.command()(confidence)
app.command()(curves)
app.command()(folders)
app.command()(joint_speed)
app.command()(lens)
app.command()(names)
app.command()(peers)
app.command()(scale)
app.command()(several)
app.command()(simulation)
app.command()(speed)
app.command()(staleness)
app.command()(train_speed)
app.command()(tune)


@app.callback()
def _about() -> None:
    """Measure the quality and the cost of cdesearch and of other systems."""

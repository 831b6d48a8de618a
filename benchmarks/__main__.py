"""`python -m benchmarks`: is it better, and what does it cost?"""

import sys

import typer

from benchmarks.ablation import ablation
from benchmarks.analyse import analyse
from benchmarks.beir import beir
from benchmarks.joint_speed import joint_speed
from benchmarks.peers import peers
from benchmarks.speed import speed
from benchmarks.train_speed import train_speed
from cdesearch.errors import CdesearchError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(ablation)
app.command()(analyse)
app.command()(beir)
app.command()(joint_speed)
app.command()(peers)
app.command()(speed)
app.command()(train_speed)


@app.callback()
def _about() -> None:
    """Is it better, and what does it cost?"""


if __name__ == "__main__":
    try:
        app()
    except CdesearchError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)

"""The command that draws the paper's figures about the context, from any model and data."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.datasets.dataset import read_dataset
from benchmarks.figures.context import context_length, context_size, foreign_context, idf_divergence, movement
from benchmarks.measurement import RESULTS, make_results_folder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError

FIGURES = {
    "context-size": context_size,
    "context-length": context_length,
    "foreign-context": foreign_context,
    "movement": movement,
    "idf-divergence": idf_divergence,
}
SEVERAL = ("foreign-context", "idf-divergence")


def analyse(
    figure: Annotated[str, typer.Argument(help=f"One of {', '.join(FIGURES)}.")],
    data: Annotated[list[Path], typer.Argument(help="BEIR folders.")],
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs use again.")] = Path(
        "runs/beir/vectors"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the picture.")] = RESULTS,
) -> None:
    """Draw one of the paper's figures from any model and data."""
    make_results_folder(out)
    if figure not in FIGURES:
        raise InputError(f"There is no figure {figure}.", f"Name one of {', '.join(FIGURES)}.")
    if figure in SEVERAL and len(data) < 2:
        raise InputError(f"{figure} compares data sets.", "Name two or more.")
    drawing = FIGURES[figure]([read_dataset(folder) for folder in data], load_encoder(model), work)
    drawing.show()
    for file in drawing.save(out, {"data": [folder.name for folder in data], "model": str(model or "default")}):
        print(f"Written to {file}")

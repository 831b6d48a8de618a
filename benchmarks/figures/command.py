"""The command that draws the figures of the paper, from any model and data."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.datasets.dataset import read_dataset
from benchmarks.figures.context import context_length, context_size, foreign_context, idf_divergence, movement
from benchmarks.figures.difficulty import batch_difficulty
from benchmarks.measurement import RESULTS
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError

ON_SETS = {
    "context-size": context_size,
    "context-length": context_length,
    "foreign-context": foreign_context,
    "movement": movement,
    "idf-divergence": idf_divergence,
}
SEVERAL = ("foreign-context", "idf-divergence")


def analyse(
    figure: Annotated[str, typer.Argument(help=f"One of {', '.join(ON_SETS)}, difficulty.")],
    data: Annotated[list[Path], typer.Argument(help="BEIR folders; for difficulty a pair file or folder.")],
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs use again.")] = Path(
        "runs/beir/vectors"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the picture.")] = RESULTS,
) -> None:
    """Draw one of the paper's figures from any model and data."""
    encoder = load_encoder(model)
    if figure == "difficulty":
        drawing = batch_difficulty(data[0], encoder, work)
    elif figure in ON_SETS:
        if figure in SEVERAL and len(data) < 2:
            raise InputError(f"{figure} compares data sets.", "Name two or more.")
        drawing = ON_SETS[figure]([read_dataset(folder) for folder in data], encoder, work)
    else:
        raise InputError(f"There is no figure {figure}.", f"Name one of {', '.join(ON_SETS)}, difficulty.")
    drawing.show()
    for file in drawing.save(out, {"data": [folder.name for folder in data], "model": str(model or "default")}):
        print(f"Written to {file}")

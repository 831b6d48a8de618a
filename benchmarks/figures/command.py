"""The command that draws the figures of the papers, from any model and data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.datasets.dataset import read_dataset
from benchmarks.figures.context import context_length, context_size, foreign_context, idf_divergence, movement
from benchmarks.figures.difficulty import batch_difficulty
from benchmarks.figures.figure import Drawing
from benchmarks.figures.growth import query_growth
from benchmarks.figures.neighbours import neighbours
from benchmarks.figures.storage import storage
from benchmarks.measurement import RESULTS, make_results_folder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.progress import shown_on_stderr
from cdesearch.terminal import counted

ON_SETS = {
    "context-size": context_size,
    "context-length": context_length,
    "foreign-context": foreign_context,
    "movement": movement,
    "idf-divergence": idf_divergence,
    "storage": storage,
}
ON_PAIRS = {"difficulty": batch_difficulty, "growth": query_growth}
SEVERAL = ("foreign-context", "idf-divergence")
FIGURES = ", ".join([*ON_SETS, *ON_PAIRS, "neighbours"])


def analyse(
    figure: Annotated[str, typer.Argument(help=f"One of {FIGURES}.")],
    data: Annotated[
        list[Path], typer.Argument(help=f"BEIR folders; for {' and '.join(ON_PAIRS)} pair files or folders.")
    ],
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    first: Annotated[
        list[Path] | None,
        typer.Option(help="For neighbours: the model of a first stage. Repeat it to compare several."),
    ] = None,
    second: Annotated[
        list[Path] | None, typer.Option(help="For neighbours: the model of the second stage, one for each --first.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs use again.")] = Path(
        "runs/beir/vectors"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the picture.")] = RESULTS,
) -> None:
    """Draw one of the papers' figures from any model and data."""
    make_results_folder(out)
    if figure == "neighbours":
        drawing = _neighbours(data, first or [], second or [], work)
    elif first or second:
        raise InputError(f"The figure {figure} has no stages.", "Omit --first and --second.")
    else:
        drawing = _draw(figure, data, model, work)
    drawing.show()
    for file in drawing.save(out, {"data": [folder.name for folder in data], "model": str(model or "default")}):
        print(f"Written to {file}")


def _draw(figure: str, data: Sequence[Path], model: Path | None, work: Path) -> Drawing:
    if figure not in ON_PAIRS and figure not in ON_SETS:
        raise InputError(f"There is no figure {figure}.", f"Name one of {FIGURES}.")
    if figure in SEVERAL and len(data) < 2:
        raise InputError(f"{figure} compares data sets.", "Name two or more.")
    for path in data:
        if (path / "corpus.jsonl").is_file() == (figure in ON_PAIRS):
            needed = "pair files or folders of them" if figure in ON_PAIRS else "BEIR folders, with a corpus.jsonl"
            raise InputError(f"{figure} needs {needed}, and {path} is none.", "Name data of that kind.")
    encoder = load_encoder(model)
    if figure in ON_PAIRS:
        return ON_PAIRS[figure](data, encoder, work)
    return ON_SETS[figure]([read_dataset(folder) for folder in data], encoder, work)


def _neighbours(data: Sequence[Path], first: Sequence[Path], second: Sequence[Path], work: Path) -> Drawing:
    if not first or not second:
        raise InputError("neighbours compares two stages of a model.", "Name each with --first and --second.")
    if len(first) != len(second):
        raise InputError(
            f"--first is given {counted(len(first), 'time')}, and --second {counted(len(second), 'time')}.",
            "Name one --second for each --first.",
        )
    stages = [
        (f"{one} to {other}", load_encoder(one), load_encoder(other)) for one, other in zip(first, second, strict=True)
    ]
    datasets = [read_dataset(folder) for folder in data]
    with shown_on_stderr() as display:
        return neighbours(datasets, stages, work, display)

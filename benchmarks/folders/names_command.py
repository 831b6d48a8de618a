"""The command `names`: how often the definition of a name in source code is among the first hits."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from benchmarks.datasets.dataset import Half
from benchmarks.folders.archives import LIBRARIES
from benchmarks.folders.command import DATA
from benchmarks.folders.measures import DEPTH
from benchmarks.folders.names import NAME_KINDS, Name, sampled_names
from benchmarks.folders.rebuild import rebuilt
from benchmarks.measurement import RESULTS, Measurement, measure, show
from cdesearch.errors import InputError
from cdesearch.progress import Silent
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.build import build
from indexer.settings import Options

MODES: tuple[Mode, ...] = ("hybrid", "text")
FORMS = {"the name": "{}", "a question": "what is {} used for"}


def names(
    half: Annotated[Half, typer.Option(help="Of the names: all, those to choose settings by, or to report.")] = "all",
    only: Annotated[str, typer.Option(help="Names of libraries, separated by commas. Default: all.")] = "",
    data: Annotated[Path, typer.Option(help="Folder for the files and indexes, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure how often the definition of a name in source code is among the first hits."""
    chosen = only.split(",") if only else list(LIBRARIES)
    if unknown := [name for name in chosen if name not in LIBRARIES]:
        raise InputError(f"There is no library {', '.join(unknown)}.", f"Name some of {', '.join(LIBRARIES)}.")
    measure("names", {"definitions": partial(_all_libraries, chosen, half, data)}, {"half": half, "only": chosen}, out)


def _all_libraries(libraries: Sequence[str], half: Half, data: Path) -> list[Measurement]:
    measured: dict[str, list[dict[str, float]]] = {}
    for library in libraries:
        files = rebuilt(library, LIBRARIES[library], data)
        for system, found in measured_names(files, data / library / "index", sampled_names(files, half)).items():
            measured.setdefault(system, []).extend(found)
    return [
        Measurement(f"{system}: {name}", value, "x 100", detail={"names": len(found)})
        for system, found in measured.items()
        for name, value in _means(found).items()
    ]


def measured_names(files: Path, index: Path, names: Sequence[Name]) -> dict[str, list[dict[str, float]]]:
    """Index a folder, and return the measures of every name, by kind, mode and form of the query. Prints the means."""
    build([files], Options(index=index), Silent())
    measured = {}
    table = Table(files.parent.name, "names", *measure_name(names[0], []))
    with Searcher(Index(index)) as searcher:
        for kind in NAME_KINDS:
            some = [name for name in names if name.kind == kind]
            for mode, (form, query) in [(mode, form) for mode in MODES for form in FORMS.items() if some]:
                results = searcher.search_many([query.format(name.text) for name in some], DEPTH, mode)
                found = [
                    measure_name(name, [hit.chunk for hit in result.hits])
                    for name, result in zip(some, results, strict=True)
                ]
                measured[f"{kind}, {mode}, {form}"] = found
                values = _means(found).values()
                table.add_row(f"{kind}, {mode}, {form}", str(len(found)), *(f"{value:.0f}" for value in values))
    show(table)
    return measured


def measure_name(name: Name, found: Sequence[Chunk]) -> dict[str, float]:
    """The measures of one name, shares x 100: is its definition among the first `found`, and is the name itself?"""
    ranks = [rank for rank, chunk in enumerate(found, start=1) if name.is_defined_in(chunk)]
    measured = {f"definition@{k}": 100.0 * any(rank <= k for rank in ranks) for k in (1, 3, 10)}
    measured["MRR@10"] = 100 / ranks[0] if ranks else 0.0
    measured["used@3"] = 100.0 * any(name.is_used_in(chunk) for chunk in found[:3])
    return measured


def _means(measured: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure over names."""
    return {measure: float(np.mean([one[measure] for one in measured])) for measure in measured[0]}

"""The command `code`: are the files found that answer queries about source code, beside published figures?"""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Column, Table

from benchmarks.datasets.dataset import Dataset
from benchmarks.folders.questions import Passage, all_chunks
from benchmarks.measurement import RESULTS, Measurement, measure, show
from benchmarks.measures import measure_run
from benchmarks.systems.dense import MiniLm
from benchmarks.systems.text import Bm25
from cdesearch.context.vectors import Floats
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError, SourceError
from cdesearch.progress import Silent
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.build import build
from indexer.settings import Options
from indexer.warm import Warm
from trainer.replacing import make_folder

WORK = Path("runs/code")
CHUNKS = 50  # of each ranking
MEASURE = "nDCG@10"
BUDGETS = 500, 2_000  # tokens of the model that are read from the first passage on
MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")
SYSTEMS = (*MODES, "bm25", "minilm", "ripgrep")
GREP = ("rg", "--no-config", "--count", "--null", "--with-filename", "--fixed-strings", "--ignore-case", "--hidden")

Ranking = Sequence[str]  # the path of each chunk that is found, best first
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Repository:
    """Queries about the code of a repository, the files that answer them, and what others have published."""

    name: str
    origin: str  # the name at its host, and the revision
    queries: tuple[str, ...]
    categories: tuple[str, ...]  # of the queries
    files: tuple[frozenset[str], ...]  # that answer each query: paths from the top of the repository
    published: Mapping[str, float]  # nDCG@10 x 100, by system


def read_annotations(folder: Path) -> list[Repository]:
    """The repositories of a folder of annotations; raises SourceError."""
    try:
        published = {row["repo"]: row for row in _rows(folder / "published.tsv")}
        return [_repository(folder, row, published.get(row["name"], {})) for row in _rows(folder / "repositories.tsv")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{folder} has no annotations to read ({error!r}).", "Name another folder.") from None


def _rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(), delimiter="\t"))


def _repository(folder: Path, row: Mapping[str, str], published: Mapping[str, str]) -> Repository:
    asked = json.loads((folder / f"{row['name']}.json").read_text(encoding="utf-8"))
    queries, categories = (tuple(one[key] for one in asked) for key in ("query", "category"))
    targets = ([*one["relevant"], *one.get("secondary", [])] for one in asked)
    files = tuple(frozenset(one if isinstance(one, str) else one["path"] for one in some) for some in targets)
    figures = {name: 100 * float(text) for name, text in published.items() if name not in ("repo", "language") and text}
    return Repository(row["name"], f"{row['github']}@{row['revision']}", queries, categories, files, figures)


Found = Mapping[str, Sequence[Sequence[Passage]]]  # by system, for each query, best first


def rankings(names: Sequence[str], queries: Sequence[str], files: Path, work: Path) -> Found:
    """Index files, and rank their chunks for each query with the systems of these names."""
    index, encoder = work / "indexes" / files.name, load_encoder(None)
    build([files], Options(index=index), Silent(), Warm(encoder))
    found: dict[str, list[list[Passage]]] = {}
    with Searcher(Index(index), encoder) as searcher:
        chunks = all_chunks(searcher.index)
        for mode in [mode for mode in MODES if mode in names]:
            results = searcher.search_many(queries, CHUNKS, mode)
            found[mode] = [[Passage(hit.chunk.path, hit.chunk.text) for hit in some] for some in results]
    ids, texts = (tuple(getattr(chunk, name) for chunk in chunks) for name in ("id", "text"))
    dataset = Dataset("code", Path(), ids, texts, {str(n): query for n, query in enumerate(queries)}, {}, ())
    if "bm25" in names:
        found["bm25"] = [_best(scores, chunks) for scores in Bm25().scores(dataset)]
    if "minilm" in names:
        of_queries, of_chunks = MiniLm(work / "vectors").vectors(dataset)
        found["minilm"] = [_best(of_chunks @ vector, chunks) for vector in of_queries]
    if "ripgrep" in names:
        found["ripgrep"] = [[Passage(path, "") for path in matching_files(query, files)] for query in queries]
    return found


def _best(scores: Floats, chunks: Sequence[Chunk]) -> list[Passage]:
    """The chunks (n,) with the best positive scores (n,)."""
    return [
        Passage(chunks[at].path, chunks[at].text)
        for at in np.argsort(-scores, kind="stable")[:CHUNKS]
        if scores[at] > 0
    ]


def matching_files(text: str, folder: Path) -> Ranking:
    """The files that contain a text as it is, those with most matching lines first."""
    run = subprocess.run([*GREP, "--", text, "."], cwd=folder, capture_output=True, text=True, check=False)
    rows = (line.split("\0") for line in run.stdout.splitlines())
    return [path.removeprefix("./") for _, path in sorted((-int(count), path) for path, count in rows)]


def measured(relevant: Sequence[frozenset[str]], found: Sequence[Ranking]) -> dict[str, Values]:
    """nDCG@10 x 100 of each query (n,), by file and by chunk. All relevant files count the same.

    By file, the rank of a file is that among the files of the ranking. By chunk, it is that of its first chunk among
    chunks; further chunks of the file take ranks and count nothing.
    """
    judged = {str(n): dict.fromkeys(files, 1) for n, files in enumerate(relevant)}
    by_file = {str(n): list(dict.fromkeys(own)) for n, own in enumerate(found)}
    by_chunk = {
        str(n): [f"/{at}" if path in own[:at] else path for at, path in enumerate(own)] for n, own in enumerate(found)
    }
    return {
        unit: measure_run(judged, run, (MEASURE,))[MEASURE] for unit, run in (("file", by_file), ("chunk", by_chunk))
    }


def recall_within(
    budget: int, relevant: Sequence[frozenset[str]], found: Sequence[Sequence[Passage]], count: Callable[[str], int]
) -> Values:
    """The share x 100 of the relevant files of each query (n,) that are among the first `budget` tokens of passages."""
    shares = []
    for files, passages in zip(relevant, found, strict=True):
        ends = np.cumsum([count(passage.text) for passage in passages])
        read = {passage.path for passage, end in zip(passages, ends, strict=True) if end <= budget}
        shares.append(100 * len(files & read) / len(files))
    return np.array(shares)


def summarised(asked: Sequence[Repository], reached: Mapping[str, Values]) -> list[Measurement]:
    """Means over the queries of a repository, then over repositories, of all queries and of those of each category.

    `reached` has the values of all queries in order, by system and unit of ranks. Published figures follow.
    """
    names = np.array([one.name for one in asked for _ in one.queries])
    kinds = np.array([category for one in asked for category in one.categories])
    found = []
    for system, values in reached.items():
        of_kinds = {kind: _means(values[kinds == kind], names[kinds == kind]) for kind in np.unique(kinds).tolist()}
        categories = {kind: float(np.mean(list(means.values()))) for kind, means in of_kinds.items()}
        found.append(_summary(system, _means(values, names), categories))
    for system in dict.fromkeys(name for one in asked for name in one.published):
        means = {one.name: one.published[system] for one in asked if system in one.published}
        found.append(_summary(f"{system}, published", means, {}))
    return found


def _means(values: Values, names: NDArray[np.str_]) -> dict[str, float]:
    """The mean of the values (n,) of each name (n,)."""
    return {name: float(values[names == name].mean()) for name in dict.fromkeys(names.tolist())}


def _summary(name: str, repositories: Mapping[str, float], categories: Mapping[str, float]) -> Measurement:
    detail = {"repositories": repositories, "categories": categories}
    unit = "% of the files" if "recall" in name else f"{MEASURE} x 100"
    return Measurement(name, float(np.mean(list(repositories.values()))), unit, detail=detail)


def show_table(columns: Sequence[Measurement]) -> None:
    """Print the figures of each repository and category."""
    names = (one.name.replace("_", " ").replace(", ", "\n") for one in columns)
    table = Table(Column(f"{MEASURE} x 100", no_wrap=True), *names)
    table.add_row("mean", *(f"{one.value:.1f}" for one in columns), end_section=True)
    for part in ("repositories", "categories"):
        for name in dict.fromkeys(name for one in columns for name in one.detail[part]):
            values = (one.detail[part].get(name) for one in columns)
            table.add_row(name, *("" if value is None else f"{value:.1f}" for value in values))
        table.add_section()
    show(table)


def code(
    annotations: Annotated[Path, typer.Argument(help="Folder with NAME.json, repositories.tsv and published.tsv.")],
    repositories: Annotated[Path, typer.Argument(help="Folder with the exported code of each repository in NAME.")],
    systems: Annotated[str, typer.Option(help=f"Any of {', '.join(SYSTEMS)}.")] = ",".join(SYSTEMS),
    only: Annotated[str, typer.Option(help="Names of repositories, separated by commas. Default: all.")] = "",
    work: Annotated[Path, typer.Option(help="Folder for indexes and vectors, which later runs use again.")] = WORK,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure whether the files are found that answer queries about source code, beside published figures."""
    known = {one.name: one for one in read_annotations(annotations)}
    names, chosen = systems.split(","), only.split(",") if only else list(known)
    for kind, some, all_names in (("system", names, SYSTEMS), ("repository", chosen, known)):
        if unknown := [name for name in some if name not in all_names]:
            raise InputError(f"There is no {kind} {', '.join(unknown)}.", f"Name some of {', '.join(all_names)}.")
    if "ripgrep" in names and shutil.which("rg") is None:
        print("ripgrep is left out, because rg is not installed.", file=sys.stderr)
        names.remove("ripgrep")
    asked = [known[name] for name in chosen]
    for one in asked:
        if not any((repositories / one.name / path).is_file() for paths in one.files for path in paths):
            raise SourceError(
                f"{repositories / one.name} has none of the files that {one.name}.json names.",
                f"Export {one.origin} there, with the paths from its top.",
            )
    make_folder(work)
    settings = {"systems": names, "repositories": {one.name: one.origin for one in asked}}
    measure("code", {"search": partial(_measurements, asked, names, repositories, work)}, settings, out)


def _measurements(asked: Sequence[Repository], names: Sequence[str], folder: Path, work: Path) -> list[Measurement]:
    reached: dict[str, list[Values]] = {}
    tokenizer = load_encoder(None).tokenizer

    @cache
    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    for one in asked:
        found = rankings(names, one.queries, folder / one.name, work)
        for system in names:
            paths = [[passage.path for passage in some] for some in found[system]]
            for unit, values in measured(one.files, paths).items():
                reached.setdefault(f"{system}, by {unit}", []).append(values)
            for budget in BUDGETS if system != "ripgrep" else ():
                values = recall_within(budget, one.files, found[system], tokens)
                reached.setdefault(f"{system}, recall within {budget} tokens", []).append(values)
        shown = ", ".join(f"{name} {rows[-1].mean():.1f}" for name, rows in reached.items())
        print(f"{one.name}: {shown}", file=sys.stderr)
    measurements = summarised(asked, {name: np.concatenate(rows) for name, rows in reached.items()})
    for other in ("by chunk", "by file"):
        show_table([one for one in measurements if not one.name.endswith((other, "tokens"))])
    return measurements

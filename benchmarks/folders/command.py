"""The command `folders`: how often the right passage of a folder is among the first hits."""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from benchmarks.datasets.dataset import Half
from benchmarks.folders.archives import FOLDERS
from benchmarks.folders.measures import DEPTH, means, measure_question
from benchmarks.folders.questions import KINDS, QUESTIONS, Question, check_questions, read_questions
from benchmarks.folders.rebuild import rebuilt
from benchmarks.measurement import RESULTS, Measurement, measure, show
from cdesearch.errors import InputError
from cdesearch.progress import Silent
from cdesearch.search.documents import DocumentReader
from cdesearch.search.reader import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.build import build
from indexer.settings import Options

MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")
DATA = Path(os.environ.get("CDESEARCH_DATA", "runs")) / "folders"

Ranking = Callable[[str], Sequence[Chunk]]


def folders(
    half: Annotated[
        Half, typer.Option(help="Of the questions: all, those to choose settings by, or those to report.")
    ] = "all",
    only: Annotated[str, typer.Option(help="Names of folders, separated by commas. Default: all.")] = "",
    data: Annotated[Path, typer.Option(help="Folder for the files and indexes, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure how often the right passage of a folder is among the first hits."""
    asked = [file.stem for file in sorted(QUESTIONS.glob("*.jsonl"))]
    names = only.split(",") if only else asked
    if unknown := [name for name in names if name not in asked]:
        raise InputError(f"There are no questions about {', '.join(unknown)}.", f"Name some of {', '.join(asked)}.")
    suites = {name: partial(_folder, name, half, data) for name in names}
    measure("folders", suites, {"half": half}, out)


def _folder(name: str, half: Half, data: Path) -> list[Measurement]:
    files = rebuilt(name, FOLDERS[name], data)
    return measured_folder(files, data / name / "index", read_questions(QUESTIONS / f"{name}.jsonl", half))


def measured_folder(files: Path, index: Path, questions: Sequence[Question]) -> list[Measurement]:
    """Index a folder and measure all systems; raises InputError if a question has a wrong answer."""
    build([files], Options(index=index), Silent())
    with Searcher(Index(index)) as searcher:
        chunks = _all_chunks(searcher.index)
        if wrong := check_questions(questions, chunks):
            raise InputError(wrong[0], "Correct the questions.")
        systems: dict[str, Ranking] = {f"cdesearch, {mode}": partial(_found, searcher, mode) for mode in MODES}
        systems["AND of words"] = partial(with_all_words, chunks)
        return [one for name, ranking in systems.items() for one in _measured(name, ranking, questions, searcher)]


def with_all_words(chunks: Sequence[Chunk], question: str) -> list[Chunk]:
    """Chunks that contain every word of the question, as lines of ripgrep after ripgrep would; in order of files."""
    words = set(re.findall(r"\w+", question.lower()))
    return [chunk for chunk in chunks if all(word in chunk.text.lower() for word in words)][:DEPTH]


def _found(searcher: Searcher, mode: Mode, question: str) -> list[Chunk]:
    return [hit.chunk for hit in searcher.search(question, DEPTH, mode)]


def _all_chunks(index: Index) -> list[Chunk]:
    reader = DocumentReader(index)
    paths = index.chunks.search().select(["path"]).limit(index.chunks.count_rows()).to_arrow()["path"].to_pylist()
    return [chunk for path in sorted(set(paths)) for chunk in reader.file(path)]


def _measured(name: str, ranking: Ranking, questions: Sequence[Question], searcher: Searcher) -> list[Measurement]:
    """The measures of one system over all questions, and by kind in the details. Prints them by kind."""
    tokenizer = searcher.encoder.tokenizer

    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    by_kind: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for question in questions:
        by_kind[question.kind].append(measure_question(question, ranking(question.text), tokens))
    kinds = {kind: means(some) | {"questions": float(len(some))} for kind, some in by_kind.items() if some}
    table = Table(name, *next(iter(kinds.values())))
    for kind, found in kinds.items():
        table.add_row(kind, *(f"{value:.0f}" for value in found.values()))
    show(table)
    overall = means([one for some in by_kind.values() for one in some])
    return [
        Measurement(
            f"{name}: {measure}",
            value,
            "tokens" if measure == "tokens" else "x 100",
            detail={kind: found[measure] for kind, found in kinds.items()},
        )
        for measure, value in overall.items()
    ]

"""The command `folders`: how often the right passage of a folder is among the first hits."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.datasets.dataset import Dataset, Half
from benchmarks.folders.archives import rebuilt
from benchmarks.folders.questions import (
    DEPTH,
    KINDS,
    QUESTIONS,
    Passage,
    Question,
    all_chunks,
    measure_question,
    read_questions,
)
from benchmarks.measurement import RESULTS, Measurement, measure, show
from benchmarks.measures import compare
from benchmarks.systems.dense import MiniLm
from benchmarks.systems.text import Fused
from cdesearch.errors import InputError
from cdesearch.evaluation.measures import bootstrap_interval
from cdesearch.progress import Silent
from cdesearch.search.fusion import ZScoreFusion
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.build import build
from indexer.formats.records import PART
from indexer.settings import Options
from trainer.replacing import make_folder

MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")
OURS = "cdesearch, hybrid"

Finder = Callable[[Sequence[str]], list[list[Passage]]]  # from questions to passages, best first
DATA = Path(os.environ.get("CDESEARCH_DATA", "runs")) / "folders"


def finders(searcher: Searcher, chunks: Sequence[Chunk], work: Path) -> Mapping[str, Finder]:
    """All modes of an index, of which OURS is the first, and other systems, by name. Vectors are stored in `work`."""

    def find(mode: Mode, questions: Sequence[str]) -> list[list[Passage]]:
        found = (searcher.search(question, DEPTH, mode) for question in questions)
        return [[Passage(hit.chunk.path, hit.chunk.text) for hit in result] for result in found]

    minilm = Fused(MiniLm(work), ZScoreFusion())
    others = partial(_by_vectors_and_words, minilm, [Passage(chunk.path, chunk.text) for chunk in chunks])
    return {**{f"cdesearch, {mode}": partial(find, mode) for mode in MODES}, minilm.name: others}


def _by_vectors_and_words(system: Fused, passages: Sequence[Passage], questions: Sequence[str]) -> list[list[Passage]]:
    """Rank passages without an index: all cosines are exact, and BM25 is that of bm25s."""
    by_id = {f"{passage.path}{PART}{row}": passage for row, passage in enumerate(passages)}
    texts = tuple(passage.text for passage in passages)
    asked = {question: question for question in questions}
    run = system.retrieve(Dataset("folder", Path(), tuple(by_id), texts, asked, {name: {} for name in asked}, ()))
    return [[by_id[name] for name in run[question][:DEPTH]] for question in questions]


Answered = tuple[str, Mapping[str, float]]  # the kind of a question, and what a system reached on it
Answers = Mapping[str, Sequence[Answered]]  # of each system, for the same questions in the same order


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
    make_folder(data)
    answers: dict[str, Answers] = {}

    def of_folder(name: str) -> list[Measurement]:
        files = rebuilt(name, data)
        answers[name] = measured_folder(files, data / name, read_questions(QUESTIONS / f"{name}.jsonl", half))
        return summarised(answers[name])

    def of_all() -> list[Measurement]:
        return summarised(
            {system: [one for name in names for one in answers[name][system]] for system in answers[names[0]]}
        )

    suites = {name: partial(of_folder, name) for name in names} | ({"all": of_all} if len(names) > 1 else {})
    measure("folders", suites, {"half": half, "folders": names}, out)


def measured_folder(files: Path, work: Path, questions: Sequence[Question]) -> Answers:
    """Index a folder and ask all systems. The index and vectors are in `work`, and later runs read them again."""
    build([files], Options(index=work / "index"), Silent())
    with Searcher(Index(work / "index")) as searcher:
        tokenizer = searcher.encoder.tokenizer

        def tokens(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)

        texts = [question.text for question in questions]
        return {
            name: [
                (question.kind, measure_question(question, passages, tokens))
                for question, passages in zip(questions, find(texts), strict=True)
            ]
            for name, find in finders(searcher, all_chunks(searcher.index), work / "vectors").items()
        }


def summarised(answers: Answers) -> list[Measurement]:
    """The mean of each measure with its 95% interval, by kind of question, and its difference from that of OURS.

    Prints a table for each system.
    """
    columns = {system: _columns(some) for system, some in answers.items()}
    found = []
    for system, some in answers.items():
        kinds = [kind for kind in KINDS if any(own == kind for own, _ in some)]
        table = Table(system, *columns[system])
        by_kind = {kind: _columns([one for one in some if one[0] == kind]) for kind in kinds}
        for kind, values in by_kind.items():
            n_questions = sum(own == kind for own, _ in some)
            table.add_row(f"{kind} ({n_questions})", *(f"{value.mean():.0f}" for value in values.values()))
        rows = [
            _summary(system, name, columns, {kind: float(by_kind[kind][name].mean()) for kind in kinds})
            for name in columns[system]
        ]
        table.add_row(
            f"all ({len(some)})",
            *(f"{one.value:.0f} ({one.detail['low']:.0f}-{one.detail['high']:.0f})" for one in rows),
        )
        show(table)
        found += rows
    return found


def _summary(
    system: str, name: str, columns: Mapping[str, Mapping[str, NDArray[np.float64]]], kinds: Mapping[str, float]
) -> Measurement:
    values = columns[system][name]
    low, high = bootstrap_interval(values, np.random.default_rng(0))
    detail = {"low": low, "high": high, "kinds": kinds}
    if system != OURS:
        detail["against hybrid"] = asdict(compare(values, columns[OURS][name]))
    return Measurement(
        f"{system}: {name}", float(values.mean()), "tokens" if name == "tokens" else "x 100", detail=detail
    )


def _columns(answers: Sequence[Answered]) -> dict[str, NDArray[np.float64]]:
    """Each measure over questions."""
    return {name: np.array([measured[name] for _, measured in answers]) for name in answers[0][1]}

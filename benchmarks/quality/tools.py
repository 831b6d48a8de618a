"""The command `tools`: whether named tools find the right file of a folder, and what they cost, all in one run.

Tools that rank files are compared by files alone. `peers` uses them, each in processes of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.folders.archives import rebuilt
from benchmarks.folders.command import DATA
from benchmarks.folders.questions import QUESTIONS, Question, read_questions
from benchmarks.measurement import RESULTS, Measurement, measure
from benchmarks.quality import peers
from benchmarks.quality.code import Repository, read_annotations
from benchmarks.quality.peers import DEPTH, TOOLS
from benchmarks.systems.dense import installed_minilm
from cdesearch.errors import InputError
from cdesearch.evaluation.questions import Answer
from trainer.replacing import make_folder

PROGRAMS = {"Recoll": "recollq", "ripgrep": "rg"}
OTHER_ENVIRONMENTS = ("txtai", "haiku.rag", "semble")
WITH_MINILM = ("LanceDB + MiniLM", "txtai", "haiku.rag")


@dataclass(frozen=True, slots=True)
class Used:
    """What one tool reached in one folder."""

    ranks: tuple[int, ...]  # of the first right file of each question; 0 if it is not among the DEPTH best
    index_seconds: float
    first_seconds: float  # of a new process until its first answer
    query_seconds: float  # of all further questions together
    megabytes: float  # on disk
    index_memory: float  # in megabytes, as is the next
    answer_memory: float


def tools(
    only: Annotated[
        str, typer.Option(help="Names of folders, separated by commas. Default: all, or none with --annotations.")
    ] = "",
    environments: Annotated[
        Path, typer.Option(help="Folder with virtual environments named txtai, haiku.rag and semble.")
    ] = DATA.parent / "environments",
    annotations: Annotated[
        Path | None, typer.Option(help="Folder with the queries of the command `code`, to search code as well.")
    ] = None,
    repositories: Annotated[Path, typer.Option(help="Folder with the code. What it lacks is left out.")] = Path(),
    data: Annotated[Path, typer.Option(help="Folder for the files, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare named tools by the files that they find in folders, and by what they cost."""
    every = [file.stem for file in sorted(QUESTIONS.glob("*.jsonl"))]
    names = only.split(",") if only else [] if annotations else every
    if unknown := sorted({*names} - {*every}):
        raise InputError(f"There is no folder {unknown[0]}.", f"Choose from {', '.join(every)}.")
    make_folder(data)
    folders = {name: (rebuilt(name, data), read_questions(QUESTIONS / f"{name}.jsonl")) for name in names}
    for one in read_annotations(annotations) if annotations else ():
        if (repositories / one.name).is_dir():
            folders[one.name] = (repositories / one.name, _questions(one))
    if not folders:
        raise InputError(f"{repositories} has none of the repositories.", "Name the folder with --repositories.")
    pythons = {tool: python for tool in TOOLS if (python := python_of(tool, environments))}

    def of_all() -> list[Measurement]:
        return [
            one
            for tool, python in pythons.items()
            for one in _measured(tool, {name: used(tool, python, *folder) for name, folder in folders.items()})
        ]

    measure("tools", {"folders": of_all}, {"folders": list(folders), "tools": list(pythons)}, out)


def _questions(repository: Repository) -> list[Question]:
    """The queries of a repository, of which only the files of the answers are known."""
    asked = zip(repository.queries, repository.files, strict=True)
    return [Question(query, "where", tuple(Answer(path, "") for path in sorted(files))) for query, files in asked]


def python_of(tool: str, environments: Path) -> Path | None:
    """The Python that can run a tool; None if the tool is not installed."""
    if tool in OTHER_ENVIRONMENTS:
        python = environments.absolute() / tool / "bin" / "python"
        return python if python.exists() else None
    return Path(sys.executable) if shutil.which(PROGRAMS.get(tool, "sh")) else None


def used(tool: str, python: Path, files: Path, questions: Sequence[Question]) -> Used:
    """Index a folder in one process, and ask another one all questions."""
    with tempfile.TemporaryDirectory() as work:
        started = time.perf_counter()
        index = _started(tool, python, "index", files, work)
        index_memory = float(index.communicate()[0])
        indexed = time.perf_counter()
        size = sum(file.stat().st_size for file in Path(work).rglob("*") if file.is_file())
        asked = time.perf_counter()
        answers = _started(tool, python, "answer", files, work)
        ranks, answered = [], []
        for question in questions:
            assert answers.stdin and answers.stdout
            answers.stdin.write(json.dumps(question.text) + "\n")
            answers.stdin.flush()
            paths, right = json.loads(answers.stdout.readline()), {answer.path for answer in question.answers}
            ranks.append(next((rank for rank, path in enumerate(paths, 1) if path in right), 0))
            answered.append(time.perf_counter())
        answer_memory = float(answers.communicate()[0])
    first, last = answered[0], answered[-1]
    one = Used(tuple(ranks), indexed - started, first - asked, last - first, size / 1e6, index_memory, answer_memory)
    print(f"{tool}: {one}", flush=True)  # a run takes long, and a later tool may fail
    return one


def _started(tool: str, python: Path, action: str, files: Path, work: str) -> "subprocess.Popen[str]":
    """A process of `peers`. Without -P, it would import the modules beside that file instead of packages."""
    minilm = {"MINILM": str(installed_minilm()), "HF_HUB_OFFLINE": "1"} if tool in WITH_MINILM else {}
    return subprocess.Popen(
        [python, "-P", peers.__file__, tool, action, files.resolve(), work],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **minilm},
    )


def _measured(tool: str, folders: Mapping[str, Used]) -> list[Measurement]:
    """The figures of one tool over all folders; the detail of each has those of the folders."""
    everything = list(folders.values())

    def found(k: int, some: Sequence[Used]) -> float:
        ranks = [rank for one in some for rank in one.ranks]
        return 100 * sum(0 < rank <= k for rank in ranks) / len(ranks)

    def query(some: Sequence[Used]) -> float:
        return 1000 * sum(one.query_seconds for one in some) / sum(len(one.ranks) - 1 for one in some)

    figures: dict[str, tuple[Callable[[Sequence[Used]], float], str]] = {
        **{f"file@{k}": (partial(found, k), "x 100") for k in (1, 3, DEPTH)},
        "index": (lambda some: sum(one.index_seconds for one in some), "s"),
        "first answer": (lambda some: sum(one.index_seconds + one.first_seconds for one in some), "s"),
        "query": (query, "ms"),
        "disk": (lambda some: sum(one.megabytes for one in some), "MB"),
        "memory of the index": (lambda some: max(one.index_memory for one in some), "MB"),
        "memory of a query": (lambda some: max(one.answer_memory for one in some), "MB"),
    }
    return [
        Measurement(
            f"{tool}: {name}",
            figure(everything),
            unit,
            detail={folder: figure([one]) for folder, one in folders.items()},
        )
        for name, (figure, unit) in figures.items()
    ]

"""The command `agents`: what an agent reads until it has the answer, with the tools of `cdesearch mcp` or with grep.

Both agents are programs with a fixed plan, and see whether a text contains the answer. A language model would choose
better words for grep, and better files to read; it would also ask the search again in other words.
"""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.folders.archives import rebuilt
from benchmarks.folders.command import DATA
from benchmarks.folders.questions import KINDS, QUESTIONS, Question, read_questions
from benchmarks.measurement import RESULTS, Measurement, measure
from cdesearch.cli.token_budget import Part
from cdesearch.progress import Silent
from cdesearch.search.passages import count_tokens
from cdesearch.search.request import SearchRequest
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.search_tool import search
from cdesearch.words.stop_words import EVERY_STOP_WORD
from indexer.build import build
from indexer.settings import Options
from trainer.replacing import make_folder

FOLDERS = ("beets", "celery", "gimp", "mail")  # code, documentation, web pages and mail, which grep reads as well
MAX_CALLS = 12  # after which an agent gives up
CALL_TOKENS = 30  # that an agent writes for each call
BUDGETS = (500, 2_000, 4_000)  # tokens of one answer of the search
SHOWN = 100  # lines of an answer of grep
AROUND = 40  # lines that are read on each side of the best line of a file
MAX_WORDS = 5  # of a question for which grep is called

Reading = Iterator[tuple[str, str]]  # for each call, the file of the answer ("" if it is of several) and the answer


@dataclass(frozen=True, slots=True)
class Read:
    """What one agent has read for one question."""

    is_found: bool
    calls: int
    tokens: int


def by_search(indexes: ServedIndexes, question: str, budget: int) -> Reading:
    """Search, and then turn the page."""
    offset: int | None = 0
    while offset is not None:
        answer = search(indexes, None, SearchRequest(question), Part(budget, offset))
        yield "", answer.text
        offset = answer.data.get("next_offset")


def by_grep(files: Path, question: str) -> Reading:
    """Ask which files contain each word; in the files with the rarest of them, find the lines, and read around one."""
    words = [word for word in re.findall(r"[a-z]{3,}", question.lower()) if word not in EVERY_STOP_WORD]
    scores: dict[str, float] = {}
    n_files = sum(path.is_file() for path in files.rglob("*"))
    for word in sorted(words, key=len, reverse=True)[:MAX_WORDS]:
        found = _grep(files, "-rliF", word)
        yield "", "\n".join(found[:SHOWN])
        for path in found:
            scores[path] = scores.get(path, 0.0) + log((n_files + 1) / len(found))
    for path in sorted(scores, key=lambda path: (-scores[path], path)):
        lines = _grep(files, "-niE", "|".join(words), path)
        yield path, "\n".join(lines[:SHOWN])
        numbers = [int(line.partition(":")[0]) for line in lines]
        best = max(numbers, key=lambda number: sum(abs(number - other) <= AROUND // 2 for other in numbers))
        text = (files / path).read_text(encoding="utf-8", errors="replace").split("\n")
        yield path, "\n".join(text[max(0, best - AROUND) : best + AROUND])


def _grep(files: Path, *arguments: str) -> list[str]:
    run = subprocess.run(["grep", *arguments], cwd=files, capture_output=True, check=False)
    return run.stdout.decode("utf-8", "replace").splitlines()


def until_found(question: Question, reading: Reading, tokens: Callable[[str], int]) -> Read:
    """Read until an answer to the question is in a text, or MAX_CALLS calls are made."""
    read = calls = 0
    for path, text in reading:
        calls, read = calls + 1, read + CALL_TOKENS + tokens(text)
        shown = re.sub(r"<[^<>]*>", "", text)
        if any(answer.is_in(answer.path, shown) for answer in question.answers if path in ("", answer.path)):
            return Read(True, calls, read)
        if calls == MAX_CALLS:
            break
    return Read(False, calls, read)


def agents(
    data: Annotated[Path, typer.Option(help="Folder for the files and indexes, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure the tokens and calls until an agent has read the answers to 20 questions, with search or with grep."""
    make_folder(data)
    measure("agents", {"20-tasks": partial(_measured, data)}, {"folders": FOLDERS, "most calls": MAX_CALLS}, out)


def _measured(data: Path) -> list[Measurement]:
    read: dict[str, list[Read]] = {}
    for name in FOLDERS:
        files, folder = rebuilt(name, data).resolve(), data / name / "index"
        build([files], Options(index=folder), Silent())
        with ServedIndexes.open([folder]) as indexes:
            tokens = partial(count_tokens, tokenizer=next(iter(indexes)).searcher.tokenizer)
            for question in tasks(name):
                plans = {f"search, {budget:,} tokens": by_search(indexes, question.text, budget) for budget in BUDGETS}
                for plan, reading in (plans | {"grep and read": by_grep(files, question.text)}).items():
                    read.setdefault(plan, []).append(until_found(question, reading, tokens))
    return [one for plan, some in read.items() for one in _summary(plan, some)]


def tasks(name: str) -> list[Question]:
    """The first question of each kind about a folder."""
    questions = read_questions(QUESTIONS / f"{name}.jsonl")
    return [next(one for one in questions if one.kind == kind) for kind in KINDS]


def _summary(plan: str, some: Sequence[Read]) -> list[Measurement]:
    measured = {
        ("found", "%"): [100 * one.is_found for one in some],
        ("found by the first call", "%"): [100 * (one.is_found and one.calls == 1) for one in some],
        ("tokens", "tokens"): [one.tokens for one in some],
        ("calls", "calls"): [one.calls for one in some],
    }
    return [Measurement(f"{plan}: {name}", sum(each) / len(some), unit) for (name, unit), each in measured.items()]

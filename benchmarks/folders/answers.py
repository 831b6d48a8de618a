"""The command `answers`: does `cdesearch ask` quote what answers, and decline what a folder cannot answer?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.folders.archives import rebuilt
from benchmarks.folders.command import DATA
from benchmarks.folders.questions import QUESTIONS, Question, read_questions
from benchmarks.measurement import RESULTS, Measurement, measure
from cdesearch.cli.answers import found_answer
from cdesearch.evaluation.questions import Answer, plain
from cdesearch.progress import Silent
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from trainer.replacing import make_folder

Kind = Literal["own", "removed", "foreign"]  # removed: an own question, asked of the other files
HITS, TOKENS = 20, 1_500  # as `cdesearch ask` has them by default
EVERY = 5  # one of so many questions about another folder is asked


@dataclass(frozen=True, slots=True)
class Asked:
    """What the answer to one question has."""

    kind: Kind
    is_answered: bool
    quotes: bool = False  # the sentence, or a part of it
    cites: bool = False  # a passage with the sentence


def answers(
    data: Annotated[Path, typer.Option(help="Folder for the files and indexes, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Ask folders their own questions, those without the files that answer, and questions about other folders."""
    make_folder(data)
    asked = {file.stem: read_questions(file) for file in sorted(QUESTIONS.glob("*.jsonl"))}
    every: list[Asked] = []

    def of_folder(name: str) -> list[Measurement]:
        index = data / name / "index"
        build([rebuilt(name, data)], Options(index=index), Silent())
        foreign = [one.text for other, some in asked.items() if other != name for one in some[::EVERY]]
        with Searcher(Index(index)) as searcher:
            found = ask_folder(searcher, asked[name], foreign)
        every.extend(found)
        return summarised(found)

    suites = {name: partial(of_folder, name) for name in asked} | {"all": lambda: summarised(every)}
    measure("answers", suites, {"folders": list(asked), "hits": HITS, "tokens": TOKENS}, out)


def ask_folder(searcher: Searcher, own: Sequence[Question], foreign: Sequence[str]) -> list[Asked]:
    """Ask the questions about a folder, with and without the files that answer them, and foreign ones."""
    found = [_asked(searcher, "own", question.text, question) for question in own]
    for question in own:
        without = " ".join(dict.fromkeys(f'-path:"{answer.path}"' for answer in question.answers))
        found.append(_asked(searcher, "removed", f"{question.text} {without}"))
    return [*found, *(_asked(searcher, "foreign", text) for text in foreign)]


def _asked(searcher: Searcher, kind: Kind, text: str, question: Question | None = None) -> Asked:
    passages, answer = found_answer(searcher, SearchRequest(text, HITS), TOKENS, is_written=False)
    assert answer is not None  # it is quoted
    if question is None:
        return Asked(kind, answer.is_answered)
    quoted = [(passages[quote.passage].path, quote.text) for quote in answer.quotes]
    cited = [(passages[number - 1].path, passages[number - 1].text) for number in answer.cited]
    quotes = any(one.is_in(*text) or _is_part(one, *text) for text in quoted for one in question.answers)
    cites = any(one.is_in(*text) for text in cited for one in question.answers)
    return Asked(kind, answer.is_answered, quotes, cites)


def _is_part(answer: Answer, path: str, sentence: str) -> bool:
    """Whether a sentence of at least four words is a part of the phrase of an answer, which has several sentences."""
    return path == answer.path and len(sentence.split()) >= 4 and plain(sentence) in plain(answer.phrase)


def summarised(found: Sequence[Asked]) -> list[Measurement]:
    """The shares of own questions with an answer, its sentence and its passage, and of others that are declined."""
    of: dict[Kind, list[Asked]] = {"own": [], "removed": [], "foreign": []}
    for one in found:
        of[one.kind].append(one)
    own = of.pop("own")
    shares = {
        "own questions answered": [one.is_answered for one in own],
        "own questions with the sentence": [one.quotes for one in own],
        "own questions with a passage that has it": [one.cites for one in own],
    } | {f"{kind} questions declined": [not one.is_answered for one in some] for kind, some in of.items()}
    return [Measurement(name, 100 * sum(some) / len(some), "%") for name, some in shares.items()]

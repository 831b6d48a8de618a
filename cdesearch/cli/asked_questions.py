"""The questions of `eval`: made from the index, or read from a file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.errors import InputError
from cdesearch.terminal import counted

if TYPE_CHECKING:
    from cdesearch.evaluation.questions import Question
    from cdesearch.store.index import Index

N_AUTO = 100

AutoOption = Annotated[
    int | None,
    typer.Option(
        "--auto", metavar="N", min=1, max=2000, help=f"Make N questions from the index itself. Default: {N_AUTO}."
    ),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help='Use real questions, one on each line: {"question": "...", "answers": [{"path": "...", "phrase": "..."}]}.'
        " Any passage of the file with the phrase is right.",
    ),
]


@dataclass(frozen=True, slots=True)
class ChosenQuestions:
    """Questions, where they come from, and what they can show."""

    questions: "Sequence[Question]"
    about: str  # a sentence
    notes: tuple[str, ...]


def chosen_questions(index: "Index", auto: int | None, file: Path | None) -> ChosenQuestions:
    """Return the questions that the options of a command choose; raises InputError."""
    if auto is not None and file is not None:
        raise InputError("Several kinds of questions are given.", "Use one of --auto and --questions.")
    if file is not None:
        from cdesearch.evaluation.questions import read_questions

        asked = read_questions(file, index)
        return ChosenQuestions(asked, f"{counted(len(asked), 'question')} from {file}.", ())
    from cdesearch.evaluation.own_questions import make_questions

    asked = make_questions(index, auto or N_AUTO)
    kinds = ", ".join(f"{n} from {kind}" for kind, n in Counter(question.kind for question in asked).items())
    return ChosenQuestions(
        asked,
        f"{counted(len(asked), 'question')} made from the index: {kinds}.",
        (
            "Each is in the words of your files, and is removed from its passage before the passage is scored. They"
            " show which ranking finds related text.",
            "They cannot show how your own words are understood: people ask with other words, which favours vectors"
            " more than this table does. Use --questions for that.",
        ),
    )

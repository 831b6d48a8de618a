"""The questions about a folder, each with the passages that answer it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from benchmarks.datasets.dataset import HALVES, Half
from cdesearch.errors import SourceError
from cdesearch.evaluation.questions import Answer, plain

QUESTIONS = Path(__file__).parent / "questions"
KINDS = ("how-to", "why", "identifier", "keywords", "where")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a file that a system finds."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question of one of KINDS. Any of the answers is right."""

    text: str
    kind: str
    answers: tuple[Answer, ...]

    @property
    def half(self) -> Half:
        """The half that the question belongs to; adding or removing other questions does not change it."""
        return HALVES[blake2b(self.text.encode(), digest_size=1).digest()[0] % 2]


def read_questions(file: Path, half: Half = "all") -> list[Question]:
    """The questions of a file, or those of one half; raises SourceError."""
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").rstrip("\n").split("\n"), 1):
        try:
            row = json.loads(line)
            answers = tuple(Answer(one["path"], one["phrase"]) for one in row["answers"])
            kind = KINDS[KINDS.index(row["kind"])]  # raises ValueError for an unknown kind
            found.append(Question(row["question"], kind, answers))
        except (ValueError, KeyError, TypeError):
            raise SourceError(f"{file}:{number} is not a question.", "Write question, kind and answers.") from None
    return [question for question in found if half in ("all", question.half)]


def check_questions(questions: Sequence[Question], passages: Sequence[Passage]) -> list[str]:
    """What is wrong with the answers: phrases in no passage of their file, or in a file that no answer names."""
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(passage.path, []).append(plain(passage.text))
    wrong = []
    for question in questions:
        named = {answer.path for answer in question.answers}
        for answer in question.answers:
            holding = {path for path, some in texts.items() if any(plain(answer.phrase) in text for text in some)}
            if answer.path not in holding:
                wrong.append(f"{question.text}: no passage of {answer.path} contains the phrase")
            others = sorted(holding - named)
            wrong += [f"{question.text}: {path} contains the phrase as well" for path in others]
    return wrong

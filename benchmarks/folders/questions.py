"""The questions about a folder, each with the passages that answer it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets.dataset import HALVES, Half
from cdesearch.errors import SourceError
from cdesearch.store.schema import Chunk

QUESTIONS = Path(__file__).parent / "questions"
KINDS = ("how-to", "why", "identifier", "keywords", "where")


@dataclass(frozen=True, slots=True)
class Answer:
    """A file that answers a question, and a phrase of the passage that does so."""

    path: str
    phrase: str

    def is_in(self, chunk: Chunk) -> bool:
        """Whether a chunk of the file contains the phrase; white space does not count."""
        return chunk.path == self.path and plain(self.phrase) in plain(chunk.text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question of one of KINDS. Any of the answers is right."""

    text: str
    kind: str
    answers: tuple[Answer, ...]


def read_questions(file: Path, half: Half = "all") -> list[Question]:
    """All questions of a file, or every other one of each kind; raises SourceError."""
    found: dict[str, list[Question]] = {kind: [] for kind in KINDS}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            answers = tuple(Answer(one["path"], one["phrase"]) for one in row["answers"])
            found[row["kind"]].append(Question(row["question"], row["kind"], answers))
        except (ValueError, KeyError, TypeError):
            raise SourceError(f"{file}:{number} is not a question.", "Write question, kind and answers.") from None
    start, step = (0, 1) if half == "all" else (HALVES.index(half), 2)
    return [question for some in found.values() for question in some[start::step]]


def check_questions(questions: Sequence[Question], chunks: Sequence[Chunk]) -> list[str]:
    """What is wrong with the answers: phrases in no chunk of their file, or in a file that no answer names."""
    texts: dict[str, list[str]] = {}
    for chunk in chunks:
        texts.setdefault(chunk.path, []).append(plain(chunk.text))
    wrong = []
    for question in questions:
        named = {answer.path for answer in question.answers}
        for answer in question.answers:
            holding = {path for path, some in texts.items() if any(plain(answer.phrase) in text for text in some)}
            if answer.path not in holding:
                wrong.append(f"{question.text}: no chunk of {answer.path} contains the phrase")
            others = sorted(holding - named)
            wrong += [f"{question.text}: {path} contains the phrase as well" for path in others]
    return wrong


def plain(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())

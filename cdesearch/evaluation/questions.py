"""Test questions, each with the chunks that answer it, and the file format of real questions."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cdesearch.errors import InputError, NotIndexedError
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk

EXAMPLE = '{"question": "how do I reset it", "answers": [{"path": "guide.md", "phrase": "hold the button"}]}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the chunks that answer it, any of which is right."""

    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A file that answers a question, and a phrase of the passage that does so."""

    path: str
    phrase: str

    def is_in(self, path: str, text: str) -> bool:
        """Whether a passage of the file contains the phrase; white space does not count."""
        return path == self.path and plain(self.phrase) in plain(text)


def plain(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def read_questions(file: Path, index: Index) -> list[Question]:
    """Read a file with one JSON object on each line, and find the answers in the index.

    Raises InputError if the file cannot be read, if a line is not a question, if a file is not indexed, or if none of
    its passages contains the phrase.
    """
    chunks_of = cache(DocumentReader(index).file)
    found = [
        Question(text, _chunks_with(answers, chunks_of, f"{file}:{number}")) for number, text, answers in _rows(file)
    ]
    if not found:
        raise InputError(f"{file} contains no questions.", f"Write one on each line: {EXAMPLE}")
    return found


def _chunks_with(answers: Iterable[Answer], chunks_of: Callable[[str], Sequence[Chunk]], line: str) -> frozenset[str]:
    found: set[str] = set()
    for answer in answers:
        try:
            chunks = chunks_of(answer.path)
        except NotIndexedError as error:
            raise InputError(f"{line}: {error.cause}", "Write paths relative to the indexed folder.") from None
        right = {chunk.id for chunk in chunks if answer.is_in(chunk.path, chunk.text)}
        if not right:
            cause = f"{line}: no passage of {answer.path} contains the phrase {answer.phrase[:60]!r}."
            raise InputError(cause, "Copy a shorter phrase from one sentence of the file.")
        found |= right
    return frozenset(found)


def _rows(file: Path) -> Iterable[tuple[int, str, list[Answer]]]:
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")  # a text may contain other ends of lines
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).", "Name a file of questions.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8.", "Save it as UTF-8.") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
                answers = [Answer(_text(one["path"]), _text(one["phrase"])) for one in row["answers"]]
                if not answers:
                    raise ValueError
                found = _text(row["question"]), answers
            except KeyError as missing:
                cause = f"{file}:{number} is not a question, because a key is missing: {missing}."
                raise InputError(cause, f"Write lines such as {EXAMPLE}") from None
            except (ValueError, TypeError, RecursionError):
                raise InputError(f"{file}:{number} is not a question.", f"Write lines such as {EXAMPLE}") from None
            yield number, *found


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip().strip('"“”').strip():
        raise TypeError
    value.encode()  # raises ValueError for half of a character
    return value

"""The questions about a folder with the passages that answer them, and the measures of what a system finds."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from benchmarks.datasets.dataset import HALVES, Half
from cdesearch.errors import SourceError
from cdesearch.evaluation.questions import Answer
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.documents.chunk import CHUNK_TOKENS

QUESTIONS = Path(__file__).parent / "questions"
DEPTH = 10
MOST_TOKENS = DEPTH * CHUNK_TOKENS
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


def measure_question(question: Question, found: Sequence[Passage], tokens: Callable[[str], int]) -> dict[str, float]:
    """The measures of one question, shares x 100. Of `found`, best first, only the DEPTH best count.

    The tokens are those of all passages up to the first that answers, at most MOST_TOKENS. If none answers, they are
    MOST_TOKENS, so that a system which finds nothing does not seem quick to read.
    """
    found = found[:DEPTH]
    right = [any(answer.is_in(passage.path, passage.text) for answer in question.answers) for passage in found]
    rank = right.index(True) + 1 if any(right) else None
    paths = {answer.path for answer in question.answers}
    files = list(dict.fromkeys(passage.path for passage in found))
    measured = {f"passage@{k}": 100.0 * (rank is not None and rank <= k) for k in (1, 3, 10)}
    measured["MRR@10"] = 0.0 if rank is None else 100 / rank
    measured |= {f"file@{k}": 100.0 * any(path in paths for path in files[:k]) for k in (1, 3)}
    read = sum(tokens(passage.text) for passage in found[:rank])
    measured["tokens"] = float(MOST_TOKENS if rank is None else min(read, MOST_TOKENS))
    return measured


def all_chunks(index: Index) -> list[Chunk]:
    """All chunks of an index, by file."""
    reader = DocumentReader(index)
    paths = index.chunks.search().select(["path"]).limit(index.chunks.count_rows()).to_arrow()["path"].to_pylist()
    return [chunk for path in sorted(set(paths)) for chunk in reader.file(path)]

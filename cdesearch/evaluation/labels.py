"""Hits that the user has marked as good or bad, stored beside the index as a BEIR folder.

The files are corpus.jsonl, queries.jsonl and qrels/test.tsv. A passage is named by a hash of its text, and a question
by a hash of its own, so labels do not depend on the generation. A good passage has the grade 1, and a bad one 0.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from cdesearch.errors import InputError, NotIndexedError
from cdesearch.evaluation.questions import Question, plain
from cdesearch.search.documents import DocumentReader, quoted, read_table
from cdesearch.search.shingles import shingles_of
from cdesearch.store.filesystem import lock_of
from cdesearch.store.folder import check_marker, replace_file
from cdesearch.store.guard import check_not_linked, read_small
from cdesearch.store.index import Index
from cdesearch.store.layout import LABELS
from cdesearch.store.schema import Chunk, text_hash
from cdesearch.store.write_errors import write_error

GOOD, BAD = 1, 0
HEADER = "query-id\tcorpus-id\tscore"
MAX_FILE = 256_000_000  # bytes
SAME_SHARE = 0.5  # of the shingles of a passage that a chunk must contain after its file was changed

_JUDGEMENT = re.compile(r"([0-9a-f]{32})\t([0-9a-f]{32})\t([01])")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as it was when it was marked."""

    path: str
    text: str  # with its title and headings, as the model reads it


@dataclass(frozen=True, slots=True)
class Labels:
    """All marked hits of an index: questions and passages by id, and the grade of each pair of them."""

    queries: dict[str, str] = field(default_factory=dict)
    passages: dict[str, Passage] = field(default_factory=dict)
    grades: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def n_questions(self) -> int:
        """The number of questions with a good passage."""
        return len({query for (query, _), grade in self.grades.items() if grade == GOOD})


def mark(folder: Path, question: str, marks: Sequence[tuple[Chunk, int]]) -> Labels:
    """Store marks for hits of a question in the index `folder`, and return all labels.

    A later mark replaces an earlier one. Raises InputError, IndexStateError and StorageError.
    """
    check_marker(folder)
    text = plain(question)
    try:
        _prepare(folder / LABELS)
        with lock_of(folder / LABELS / "lock", wait=True):
            labels = read_labels(folder)
            labels.queries[text_hash(text)] = text
            for chunk, grade in marks:
                labels.passages[chunk.content_hash] = Passage(chunk.path, chunk.text)
                labels.grades[text_hash(text), chunk.content_hash] = grade
            _write(folder / LABELS, labels)
    except OSError as error:
        raise write_error(folder, error) from None
    return labels


def read_labels(folder: Path) -> Labels:
    """Return the labels beside the index `folder`, none if there are none; raises InputError and IndexStateError."""
    labels = folder / LABELS
    check_not_linked(labels)
    check_not_linked(labels / "qrels")
    queries = dict(_lines(labels / "queries.jsonl", _query))
    passages = dict(_lines(labels / "corpus.jsonl", _passage))
    judged = [line for line in _lines(labels / "qrels" / "test.tsv", _judgement) if line is not None]
    return Labels(queries, passages, {(query, passage): grade for query, passage, grade in judged})


def labelled_questions(index: Index) -> tuple[list[Question], int]:
    """Return the questions with a good passage that the index still contains, and how many passages it no longer does.

    Raises InputError if there are no such questions.
    """
    labels = read_labels(index.folder)
    if not labels.n_questions:
        raise InputError("No hit of this index is marked as good.", 'Mark some with `cdesearch label "QUESTION"`.')
    good: dict[str, list[str]] = {}
    for (query, passage), grade in labels.grades.items():
        if grade == GOOD:
            good.setdefault(query, []).append(passage)
    present = _present(index, labels.passages, {passage for some in good.values() for passage in some})
    questions = [
        Question(labels.queries[query], "labels", answers)
        for query, some in good.items()
        if query in labels.queries and (answers := frozenset[str]().union(*(present[one] for one in some)))
    ]
    n_lost = sum(not chunks for chunks in present.values())
    if not questions:
        raise InputError("The index no longer contains any of the passages that are marked as good.", "Mark others.")
    return questions, n_lost


def _present(index: Index, passages: Mapping[str, Passage], wanted: set[str]) -> dict[str, frozenset[str]]:
    """Return for each passage the ids of the chunks with the same text, or else with most of it in the same file."""
    condition = f"content_hash IN ({', '.join(map(quoted, sorted(wanted)))})"
    query = index.async_chunks.query().where(condition).select(["id", "content_hash"])
    same: dict[str, set[str]] = {name: set() for name in wanted}
    for row in read_table(index, query).to_pylist():
        same[row["content_hash"]].add(row["id"])
    for name in wanted:
        if not same[name] and name in passages:
            same[name] = _most_of(index, passages[name])
    return {name: frozenset(chunks) for name, chunks in same.items()}


def _most_of(index: Index, passage: Passage) -> set[str]:
    whole = shingles_of(passage.text)
    with suppress(NotIndexedError):
        chunks = DocumentReader(index).file(passage.path)
        return {one.id for one in chunks if len(whole & shingles_of(one.text)) >= SAME_SHARE * len(whole)}
    return set()


def _prepare(labels: Path) -> None:
    """Make the folders, and refuse a lock that is another file: opening it would empty that file."""
    check_not_linked(labels)
    check_not_linked(labels / "qrels")
    (labels / "qrels").mkdir(parents=True, exist_ok=True)
    check_not_linked(labels / "lock")
    if (labels / "lock").exists() and (labels / "lock").stat().st_nlink > 1:
        raise InputError(f"{labels / 'lock'} is a hard link to another file.", "Remove it.")


def _write(labels: Path, found: Labels) -> None:
    """Replace the files, the judgements last, so that they never name what the other files lack."""
    corpus = (
        {"_id": name, "title": "", "text": passage.text, "metadata": {"path": passage.path}}
        for name, passage in found.passages.items()
    )
    queries = ({"_id": name, "text": text} for name, text in found.queries.items())
    replace_file(labels / "corpus.jsonl", "".join(f"{json.dumps(row)}\n" for row in corpus))
    replace_file(labels / "queries.jsonl", "".join(f"{json.dumps(row)}\n" for row in queries))
    judged = (f"{query}\t{passage}\t{grade}\n" for (query, passage), grade in found.grades.items())
    replace_file(labels / "qrels" / "test.tsv", f"{HEADER}\n{''.join(judged)}")


def _query(line: str) -> tuple[str, str]:
    row = json.loads(line)
    return _text(row["_id"]), _text(row["text"])


def _passage(line: str) -> tuple[str, Passage]:
    row = json.loads(line)
    return _text(row["_id"]), Passage(_text(row["metadata"]["path"]), _text(row["text"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _judgement(line: str) -> tuple[str, str, int] | None:
    if line == HEADER:
        return None
    found = _JUDGEMENT.fullmatch(line)
    if found is None:
        raise ValueError
    return found[1], found[2], int(found[3])


def _lines(file: Path, parse: Callable[[str], Value]) -> list[Value]:
    """Return what `parse` makes of each line; nothing for a file that does not exist. Raises InputError."""
    found: list[Value] = []
    try:
        lines = read_small(file, MAX_FILE).decode().split("\n")
    except FileNotFoundError:
        return found
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).", "Move it away, or restore it.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8.", "Save it as UTF-8.") from None
    for number, line in enumerate(lines, 1):
        try:
            found += [parse(line)] if line else []
        except (ValueError, LookupError, TypeError, RecursionError):
            raise InputError(f"{file}:{number} is not a label.", "Correct the line, or remove it.") from None
    return found

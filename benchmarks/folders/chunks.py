"""The chunks of a folder's index, and the data set of them by which constants are chosen."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from benchmarks.folders.archives import FOLDERS
from benchmarks.folders.questions import QUESTIONS, Question, read_questions
from benchmarks.folders.rebuild import rebuilt
from cdesearch.progress import Silent
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from indexer.build import build
from indexer.formats.records import PART
from indexer.settings import Options


def all_chunks(index: Index) -> list[Chunk]:
    """All chunks of an index, by file."""
    reader = DocumentReader(index)
    paths = index.chunks.search().select(["path"]).limit(index.chunks.count_rows()).to_arrow()["path"].to_pylist()
    return [chunk for path in sorted(set(paths)) for chunk in reader.file(path)]


def development_set(name: str, data: Path) -> Dataset:
    """The chunks of a folder of the benchmark, and its questions of the half to choose by."""
    files = rebuilt(name, FOLDERS[name], data)
    build([files], Options(index=data / name / "index"), Silent())
    chunks = all_chunks(Index(data / name / "index"))
    return judged_chunks(name, chunks, read_questions(QUESTIONS / f"{name}.jsonl", "choose"))


def judged_chunks(name: str, chunks: Sequence[Chunk], questions: Sequence[Question]) -> Dataset:
    """A data set of chunks, each a part of its file. Every chunk that answers a question is relevant to it."""
    ids = tuple(f"{chunk.path}{PART}{row}" for row, chunk in enumerate(chunks))

    def right(question: Question) -> dict[str, int]:
        return {
            id_: 1
            for id_, chunk in zip(ids, chunks, strict=True)
            if any(answer.is_in(chunk.path, chunk.text) for answer in question.answers)
        }

    asked = {f"question-{row}": question for row, question in enumerate(questions)}
    texts = {query: question.text for query, question in asked.items()}
    judged = {query: right(question) for query, question in asked.items()}
    return Dataset(f"folder {name}", Path(), ids, tuple(chunk.text for chunk in chunks), texts, judged, ())

"""Meetings with questions, each with the parts of the transcript that answer it: QMSum."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from cdesearch.errors import SourceError
from cdesearch.store.schema import Chunk
from trainer.data.pairs.beir import Judgements

Lines = frozenset[int]  # numbers of lines, from 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one meeting."""

    text: str
    file: str  # of its meeting
    parts: tuple[Lines, ...]  # of the labelled span


@dataclass(frozen=True, slots=True)
class Meetings:
    """Transcripts, one turn of a speaker a line, and the questions about them."""

    texts: Mapping[str, str]  # by file name
    questions: tuple[Question, ...]

    def write(self, folder: Path) -> None:
        """Write each transcript to a file, unless the file has this text."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.texts.items():
            file = folder / name
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")

    def dataset(self, chunks: list[Chunk]) -> Dataset:
        """The chunks of an index of the transcripts, and all questions, for systems that rank texts."""
        judged: Judgements = {}
        queries = {str(number): question.text for number, question in enumerate(self.questions)}
        texts = tuple(chunk.text for chunk in chunks)
        return Dataset("meetings", Path(), tuple(chunk.id for chunk in chunks), texts, queries, judged, ())


def read_meetings(file: Path, first: int | None = None) -> Meetings:
    """Read a Parquet file with the columns doc_id, chunks and questions (text, chunk), or its `first` rows.

    Raises SourceError.
    """
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(file, columns=["doc_id", "chunks", "questions"]).to_pylist()[:first]
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(f"{file} holds no meetings ({error!s:.100}).", "Name a file of QMSum in Parquet.") from None
    texts, questions = {}, []
    for number, row in enumerate(rows):
        lines: list[str] = []
        parts: list[Lines] = []
        for chunk in row["chunks"]:
            turns = [turn for turn in chunk.splitlines() if turn.strip()]
            parts.append(frozenset(range(len(lines) + 1, len(lines) + len(turns) + 1)))
            lines += turns
        name = f"meeting{number:03d}.txt"
        texts[name] = "\n".join(lines) + "\n"
        spans: dict[str, list[Lines]] = {}
        for question in row["questions"]:
            spans.setdefault(question["text"], []).append(parts[question["chunk"]])
        questions += [Question(text, name, tuple(span)) for text, span in spans.items()]
    return Meetings(texts, tuple(questions))

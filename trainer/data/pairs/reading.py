"""Pair files: which there are, and the pairs in each. Also the texts and queries of folders in the format of BEIR."""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from cdesearch.errors import SourceError

ROWS = 4096  # of a file, read at once
# Columns of sentence-transformers that count as ours.
OTHER_NAMES = {"query": "anchor", "document": "positive"}
_NEGATIVE = re.compile(r"negative(_\d+)?")

# Float32 distinguishes neighbouring whole numbers up to this size.
Score = Annotated[float, Meta(ge=-(2**24), le=2**24)]
Place = Annotated[int, Meta(ge=0)]
Name = str | int | None
T = TypeVar("T")


def _rows_of_parquet(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a .parquet file; raises SourceError, and OSError as `open` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open("rb") as stream:
            for batch in pq.ParquetFile(stream).iter_batches(ROWS):
                yield from batch.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise SourceError(f"{file} is not a readable Parquet file ({error}).", "Copy the file again.") from None


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, its document, and hard negatives: documents that resemble the right one."""

    query: str
    document: str
    negatives: tuple[str, ...] = ()
    document_id: str = ""  # of the long document that `document` is a chunk of, or empty
    scores: tuple[float, ...] = ()  # of a teacher, for `document` and then for each of the negatives; or none
    place: int = 0  # of `document` among the chunks of the long document
    group: str = ""  # the part of the domain that the pair comes from, or empty


class _Row(Struct):
    """A line of a pair file. Parquet has null in place of a missing value."""

    query: str
    document: str
    negatives: list[str] | None = None
    document_id: Name = None
    scores: list[Score] | None = None
    place: Place | None = None
    group: Name = None


class _Question(Struct):
    """A question about a long document, and the index of the chunk that answers it."""

    text: str
    chunk: Place


class _LongDocument(Struct):
    doc_id: str | int
    chunks: list[str]
    questions: list[_Question]
    group: Name = None


def domain_files(sources: Iterable[Path]) -> list[Path]:
    """The pair files among `sources`, files and folders; raises SourceError."""
    domains: dict[str, Path] = {}
    for source in sources:
        if not source.exists():
            raise SourceError(
                f"There is no pair file or folder {source}.",
                "Check the path. A path in a recipe may be relative to the folder that CDESEARCH_DATA names.",
            )
        for file in sorted(filter(_format, source.iterdir())) if source.is_dir() else [source]:
            if _format(file) is None:
                raise SourceError(f"{file} is not a .jsonl, .ndjson, .jsonl.gz or .parquet file.", "Convert it to one.")
            other = domains.setdefault(domain_name(file), file)
            if other is not file:
                raise SourceError(
                    f"{other} and {file} would be one domain, {domain_name(file)}.", "Name each once, or rename one."
                )
    if not domains:
        raise SourceError("There is no pair file.", "Name .jsonl, .jsonl.gz or .parquet files, or folders of them.")
    return list(domains.values())


def domain_name(file: Path) -> str:
    """The domain of a pair file: its name up to the first dot."""
    return file.name.split(".")[0]


def read_pairs(file: Path, group: str = "") -> Iterator[Pair]:
    """The pairs of one file whose `group` begins with a pattern; raises a SourceError that names file and line."""
    wanted = re.compile(group)
    for number, row in enumerate(_rows(file), start=1):
        if group and not wanted.match(str(row.get("group"))):
            continue
        location = f"{file}:{number}"
        if "questions" in row:
            yield from _questions(_converted(row, _LongDocument, location), location)
        else:
            yield _pair(row, location)


def read_passages(file: Path) -> Iterator[list[str]]:
    """The documents of a file: the `chunks` of a long document, or the document of a pair alone; raises SourceError."""
    for number, row in enumerate(_rows(file), start=1):
        passages = row.get("chunks") or [row.get("document", row.get(OTHER_NAMES["document"]))]
        yield [text for one in _converted(passages, list[str], f"{file}:{number}") if (text := _cleaned(one))]


def _cleaned(text: str) -> str:
    """The text without white space around it; halves of a surrogate pair, which have no UTF-8, are question marks."""
    return text.strip().encode("utf-8", "replace").decode("utf-8")


def _converted(value: Any, kind: type[T], location: str) -> T:
    """A value of a declared type; raises SourceError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SourceError(f"{location} is not as expected: {error}.", "Correct or remove the line.") from None


def _pair(row: dict[str, Any], location: str) -> Pair:
    named = {name: row[other] for name, other in OTHER_NAMES.items() if name not in row and other in row}
    if missing := [name for name in OTHER_NAMES if name not in row and name not in named]:
        raise SourceError(
            f"{location} has no `{missing[0]}`. Its columns are {', '.join(map(repr, row))[:200] or 'none'}.",
            "Name them query and document, or anchor and positive, or correct the line.",
        )
    # sentence-transformers has each negative in a column of its own, or a list of them in one.
    columns = [row[name] for name in row if _NEGATIVE.fullmatch(name)]
    negatives = row.get("negatives") or (columns[0] if columns and isinstance(columns[0], list) else columns)
    found = _converted({**row, **named, "negatives": negatives}, _Row, location)
    texts, scores = found.negatives or [], found.scores or []
    if len(scores) not in (0, 1 + len(texts)):
        raise SourceError(
            f"{location} has `scores` that are not one number for the document and one for each of its negatives.",
            "Correct the line.",
        )
    name, group = (_cleaned(str(one or "")) for one in (found.document_id, found.group))
    place = found.place or 0
    return Pair(
        _cleaned(found.query), _cleaned(found.document), tuple(map(_cleaned, texts)), name, tuple(scores), place, group
    )


def _questions(found: _LongDocument, location: str) -> Iterator[Pair]:
    name, group = _cleaned(str(found.doc_id)), _cleaned(str(found.group or ""))
    for question in found.questions:
        if question.chunk >= len(found.chunks):
            raise SourceError(f"{location} has no chunk {question.chunk}, which a question names.", "Correct the line.")
        text, chunk = _cleaned(question.text), _cleaned(found.chunks[question.chunk])
        yield Pair(text, chunk, (), name, (), question.chunk, group)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a pair file; raises a SourceError that names the file, and in a .jsonl file the line."""
    number = 0
    packed = file.name.lower().endswith(".gz")
    try:
        if _format(file) == "parquet":
            yield from _rows_of_parquet(file)
            return
        with file.open("rb") as stream, gzip.open(stream) if packed else stream as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parsed(line, f"{file}:{number}")
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {number}" if number else ""
        raise SourceError(f"{file} cannot be read{after} ({error}).", "Copy the file again.") from None


def _parsed(line: bytes, location: str) -> dict[str, Any]:
    try:
        return msgspec.convert(json.loads(line), dict[str, Any])
    except (ValueError, RecursionError) as error:  # ValueError: also that of another type
        raise SourceError(f"{location} is not a JSON object ({error}).", "Correct or remove the line.") from None


def _format(file: Path) -> str | None:
    name = file.name.lower()
    if name.endswith((".jsonl", ".jsonl.gz", ".ndjson")):
        return "jsonl"
    return "parquet" if name.endswith(".parquet") else None


class _Text(Struct):
    """A line of corpus.jsonl or queries.jsonl."""

    name: str | int = field(name="_id")
    text: str
    title: str | None = None


def read_texts(corpus: Path) -> dict[str, str]:
    """The texts of a corpus.jsonl by `_id`, in order, each after its title; raises SourceError."""
    return {name: "\n".join(filter(None, (row.title, row.text))) for name, row in _texts(corpus).items()}


def read_queries(folder: Path) -> dict[str, str]:
    """All queries of a folder by `_id`, in order; raises SourceError."""
    return {name: row.text for name, row in _texts(folder / "queries.jsonl").items()}


def _texts(file: Path) -> dict[str, _Text]:
    rows: dict[str, _Text] = {}
    decoder, number = msgspec.json.Decoder(_Text), 0
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = decoder.decode(line)
                    if rows.setdefault(str(row.name), row) is not row:
                        raise SourceError(f"{file}:{number} has the id {row.name} a second time.", "Keep one of them.")
    except FileNotFoundError:
        raise SourceError(
            f"{file.parent} is not a BEIR folder: it has no {file.name}.", "See https://github.com/beir-cellar/beir."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{file}:{number} cannot be read ({error}).", "Copy the file again.") from None
    return rows

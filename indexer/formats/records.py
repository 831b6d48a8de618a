"""JSONL, CSV and Parquet: a record is a document, or one of a document's chunks."""

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

from cdesearch.errors import SourceError
from indexer.formats.unreadable import UnreadableError

TEXT_COLUMNS = ("text", "body", "content", "abstract", "passage", "document")
ID_COLUMNS = ("_id", "id", "doc_id", "docid")
PART = "::"  # a record whose id is `document::chunk` is a chunk of that document
MAX_FIELD = 100_000_000  # characters of a CSV field; the library's own limit is 131,072


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a record hold what; None means the usual names."""

    text: str | None = None
    id: str | None = None
    title: str | None = None
    document: str | None = None  # None: what stands before PART in the id


@dataclass(frozen=True, slots=True)
class Record:
    """One row."""

    id: str
    document: str  # its own id, where it is no chunk of another
    title: str
    text: str


def read_records(stream: BufferedIOBase, suffix: str, columns: Columns) -> Iterator[Record]:
    """Rows with their id (the row's number where there is no id column); raises UnreadableError or SourceError."""
    text_column = id_column = None
    for number, row in enumerate(_rows(stream, suffix), start=1):
        text_column = _column(row, columns.text, TEXT_COLUMNS, number)
        id_column = columns.id or next((name for name in ID_COLUMNS if name in row), None)
        title = row.get(columns.title or "title")
        found = row.get(id_column) if id_column else None
        identity = str(number if found is None else found)
        text = row.get(text_column)
        yield Record(
            id=identity,
            document=_document(row, columns.document, identity, number),
            title="" if title is None else str(title),
            text="" if text is None else str(text),
        )


def _document(row: Mapping[str, Any], column: str | None, identity: str, number: int) -> str:
    if column is not None and column not in row:
        there = ", ".join(str(name) for name in row)
        raise SourceError(f"Record {number} has no column {column}.", f"There are: {there} (--document-column).")
    named = row[column] if column is not None else identity.partition(PART)[0]
    return identity if named in (None, "") else str(named)


def _column(row: Mapping[str, Any], wanted: str | None, usual: tuple[str, ...], number: int) -> str:
    there = ", ".join(str(name) for name in row)
    if wanted is not None:
        if wanted not in row:
            raise SourceError(f"Record {number} has no column {wanted}.", f"There are: {there} (--text-column).")
        return wanted
    found = next((name for name in usual if name in row), None)
    if found is None:
        raise UnreadableError(f"no text column among: {there} (--text-column)")
    return found


def _rows(stream: BufferedIOBase, suffix: str) -> Iterator[Mapping[str, Any]]:
    if suffix == ".parquet":
        yield from _parquet_rows(stream)
    elif suffix in (".csv", ".tsv"):
        yield from _csv_rows(stream, "\t" if suffix == ".tsv" else ",")
    elif suffix.endswith(".gz"):
        with gzip.GzipFile(fileobj=stream) as unpacked:
            yield from _jsonl_rows(unpacked)
    else:
        yield from _jsonl_rows(stream)


def _jsonl_rows(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    try:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UnreadableError(f"line {number} is not JSON ({error})") from None
            if not isinstance(row, dict):
                raise UnreadableError(f"line {number} is not a JSON object")
            yield row
    except (OSError, EOFError, zlib.error):
        raise UnreadableError("broken gzip file") from None


def _csv_rows(stream: BufferedIOBase, delimiter: str) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(MAX_FIELD)
    rows = csv.DictReader(codecs.iterdecode(stream, "utf-8-sig"), delimiter=delimiter)
    try:
        yield from rows
    except UnicodeDecodeError:
        raise UnreadableError(f"line {rows.line_num + 1} is not UTF-8 text") from None
    except csv.Error as error:
        raise UnreadableError(f"line {rows.line_num} is not CSV ({error})") from None


def _parquet_rows(stream: BufferedIOBase) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(stream).iter_batches(4096):
            yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError):
        raise UnreadableError("broken Parquet file") from None

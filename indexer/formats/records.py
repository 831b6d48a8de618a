"""JSONL, CSV and Parquet: a record is a document, or one of a document's chunks."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

from indexer.formats.delimited import delimited_rows
from indexer.formats.encoding import stream_lines, without_surrogates
from indexer.formats.json_values import parse_json
from indexer.formats.parquet import parquet_rows
from indexer.formats.unreadable import UnreadableError, listed

TEXT_COLUMNS = ("text", "body", "content", "abstract", "passage", "document")
ID_COLUMNS = ("_id", "id", "doc_id", "docid")
PART = "::"  # a record whose id is `document::chunk` is a chunk of that document
MAX_LINE = 50_000_000  # bytes of a JSONL line


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a record hold what; None means the usual names."""

    text: str | None = None
    id: str | None = None
    title: str | None = None
    document: str | None = None  # None: what stands before PART in the id


@dataclass(slots=True)
class LeftOut:
    """Counts the lines of a file that could not be read, while the others were."""

    n_lines: int = 0
    first: str = ""  # which line is the first of them, and what is wrong with it

    def add(self, number: int, problem: str) -> None:
        """Count the line `number`, counted from one; `problem` goes on after "line 7"."""
        self.first = self.first or f"line {number} {problem}"
        self.n_lines += 1

    def __str__(self) -> str:
        if not self.n_lines:
            return ""
        return f"{self.n_lines:,} line{'s' if self.n_lines > 1 else ''} left out; {self.first}"


@dataclass(frozen=True, slots=True)
class Record:
    """One row."""

    id: str
    document: str  # its own id, where it is no chunk of another
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class _Found:
    """The columns of one file that are read."""

    text: str
    id: str | None
    title: str
    document: str | None

    def names(self) -> list[str]:
        wanted = (self.text, self.id, self.title, self.document)
        return list(dict.fromkeys(name for name in wanted if name is not None))


def read_records(stream: BufferedIOBase, suffix: str, columns: Columns, left_out: LeftOut) -> Iterator[Record]:
    """Rows with their id (the row's number where there is no id column); raises UnreadableError.

    A column that was asked for and is not there makes the file unreadable, and so does one without any text. A line of
    JSONL has columns of its own: one that cannot be read is counted in `left_out`, and only where no line can be read
    is the file unreadable.
    """
    if suffix == ".parquet":
        rows = parquet_rows(stream, lambda names: _find(names, columns).names(), columns.text or TEXT_COLUMNS)
    elif suffix in (".csv", ".tsv"):
        known = (*TEXT_COLUMNS, *ID_COLUMNS, "title", columns.text, columns.id, columns.title, columns.document)
        rows = delimited_rows(stream, suffix, lambda names: _find(names, columns).names(), known)
    else:
        yield from _jsonl_records(stream, columns, left_out, is_packed=suffix.endswith(".gz"))
        return
    for number, row in enumerate(rows, start=1):
        yield _record(row, _find(row, columns), number)


def _record(row: Mapping[str, Any], found: _Found, number: int) -> Record:
    given = row.get(found.id) if found.id else None
    identity = _text(number if given is None else given)
    named = row.get(found.document) if found.document is not None else identity.partition(PART)[0]
    return Record(
        id=identity,
        document=identity if named in (None, "") else _text(named),
        title=_text(row.get(found.title)),
        text=_text(row.get(found.text)),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return without_surrogates(str(value))
    except (RecursionError, ValueError):  # nested as deep as JSON may be, or a number of thousands of digits
        raise UnreadableError("a value that is nested too deep") from None


def _find(names: Mapping[str, Any] | list[str], columns: Columns) -> _Found:
    """Which of a file's columns hold what; raises UnreadableError where one is missing."""
    for wanted, option in ((columns.text, "--text-column"), (columns.document, "--document-column")):
        if wanted is not None and wanted not in names:
            raise UnreadableError(f"no column {listed([wanted])} ({option}); there are: {listed(names)}")
    text = columns.text or next((name for name in TEXT_COLUMNS if name in names), None)
    if text is None:
        raise UnreadableError(f"no text column among: {listed(names)} (--text-column)")
    identity = columns.id or next((name for name in ID_COLUMNS if name in names), None)
    return _Found(text, identity, columns.title or "title", columns.document)


def _jsonl_records(stream: BufferedIOBase, columns: Columns, left_out: LeftOut, *, is_packed: bool) -> Iterator[Record]:
    problem: UnreadableError | None = None  # of the first line that is left out
    n_rows = 0  # with those that are left out: mending one changes no id
    for number, line in enumerate(_jsonl_lines(stream, is_packed=is_packed), start=1):
        if len(line) > MAX_LINE:
            raise UnreadableError(f"line {number} is longer than {MAX_LINE / 1e6:g} MB")
        if not line.strip():
            continue
        n_rows += 1
        try:
            row = _parsed(line)
            found = _find(row, columns)
        except _LineError as error:
            problem = problem or UnreadableError(f"line {number} {error}")
            left_out.add(number, str(error))
        except UnreadableError as error:
            problem = problem or error
            left_out.add(number, f"has {error}")
        else:
            yield _record(row, found, n_rows)
    if problem is not None and left_out.n_lines == n_rows:
        raise problem


def _jsonl_lines(stream: BufferedIOBase, *, is_packed: bool) -> Iterator[bytes]:
    if not is_packed:
        yield from stream_lines(stream, MAX_LINE)
        return
    try:
        with gzip.GzipFile(fileobj=stream) as unpacked:
            yield from iter(lambda: unpacked.readline(MAX_LINE + 1), b"")
    except (OSError, EOFError, zlib.error):
        raise UnreadableError("broken gzip file") from None


class _LineError(Exception):
    """A line of JSONL is no JSON object; the message says what it is, to follow the line's number."""


def _parsed(line: bytes) -> dict[str, Any]:
    """The object that a line holds; raises _LineError."""
    try:
        row = parse_json(line.rstrip())  # an error at the end is not one of the next line
    except UnicodeDecodeError:
        raise _LineError("is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise _LineError(f"is not JSON ({error.msg} at column {error.colno})") from None
    except ValueError as error:
        raise _LineError(f"is not JSON ({error})") from None
    if not isinstance(row, dict):
        raise _LineError("is not a JSON object")
    return row

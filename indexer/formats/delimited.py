"""Read CSV and TSV files: a row is a record."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, TextIO, cast

from indexer.formats.encoding import stream_encoding
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.records import ID_COLUMNS, TEXT_COLUMNS, find_columns, row_documents
from indexer.formats.unreadable import UnreadableError

MAX_FIELD = 20_000_000  # characters of a field, and of a line; an open quote makes the rest of the file one field
MAX_HEADER = 1_000_000  # characters
DELIMITERS = ",;\t|"
NONE = "\x1f"  # the delimiter of a file of one column, whose text may contain all the others

Choose = Callable[[list[str]], list[str]]


class Delimited(Format):
    """Tables in which each line is a row. The first line holds the names of the columns.

    The delimiter is the one that finds most of the usual or chosen column names in the header, or else most names.
    """

    suffixes = frozenset({".csv", ".tsv"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        yield from row_documents(file, _file_rows(file))


def _file_rows(file: OpenFile) -> Iterator[Mapping[str, str | None]]:
    columns = file.columns
    known = (*TEXT_COLUMNS, *ID_COLUMNS, "title", columns.text, columns.id, columns.title, columns.document)
    encoding = stream_encoding(file.stream)
    lines = io.TextIOWrapper(cast(BinaryIO, file.stream), encoding.name, encoding.errors, newline="")
    delimiters = "\t,;|" if file.name.lower().endswith(".tsv") else DELIMITERS
    try:
        yield from _rows(lines, delimiters, lambda names: find_columns(names, file).names(), known)
    except UnicodeDecodeError:
        raise UnreadableError(f"not UTF-8 text, though marked as {encoding.name}") from None
    finally:
        lines.detach()  # the caller closes the stream


def _rows(
    lines: TextIO, delimiters: str, choose: Choose, known: Sequence[str | None]
) -> Iterator[Mapping[str, str | None]]:
    """The columns that `choose` takes from the header, row by row; raises UnreadableError."""
    header = lines.readline(MAX_HEADER)
    start = header.strip("\r\n")
    if start[:4].lower() == "sep=" and len(start) == 5:  # a first line for Excel, which names the delimiter
        delimiter, header = start[4], lines.readline(MAX_HEADER)
    else:
        delimiter = _delimiter(header, delimiters, known)
    csv.field_size_limit(MAX_FIELD)
    rows = csv.reader(_bounded(header, lines), delimiter=delimiter)
    try:
        names: list[str] = next((row for row in rows if row), [])
        chosen: list[tuple[str, int]] = []  # names and indices of columns
        for row in rows:
            if not row:
                continue
            if not chosen:
                last = {name: column for column, name in enumerate(names)}
                chosen = [(name, last[name]) for name in choose(names) if name in last]
            yield {name: row[column] if column < len(row) else None for name, column in chosen}
    except csv.Error as error:
        raise UnreadableError(f"line {rows.line_num} is not CSV ({error})") from None


def _bounded(header: str, lines: TextIO) -> Iterator[str]:
    line = header
    number = 1
    while line:
        if len(line) >= MAX_FIELD or (number == 1 and len(line) >= MAX_HEADER):
            raise UnreadableError(f"line {number} is longer than {len(line) / 1e6:g} million characters")
        yield line
        line = lines.readline(MAX_FIELD)
        number += 1


def _delimiter(header: str, delimiters: str, known: Sequence[str | None]) -> str:
    def names_found(delimiter: str) -> tuple[int, int]:
        try:
            names = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            return 0, 0
        return len({name.strip() for name in names}.intersection(filter(None, known))), len(names)

    if header.startswith('"') and header.count('"') % 2:  # a name that continues on the next line
        return delimiters[0]
    best = max(delimiters, key=names_found)  # the first of several equally good ones
    return best if names_found(best)[1] > 1 else NONE

"""Read CSV and TSV files: a row is a record, or the line of a sheet."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import BinaryIO, TextIO, cast

from indexer.formats.encoding import stream_encoding
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.records import ID_COLUMNS, TEXT_COLUMNS, NoTextColumnError, find_columns, row_documents
from indexer.formats.spreadsheet import Cell, cell_text, sheet_document

MAX_FIELD = 20_000_000  # characters of a field, and of a line; an open quote makes the rest of the file one field
DELIMITERS = ",;\t|"
NONE = "\x1f"  # the delimiter of a file of one column, whose text may contain all the others


class Delimited(Format):
    """Tables in which each line is a row. The first line holds the names of the columns.

    The delimiter is the one that finds most of the usual or chosen column names in the header, or else most names.
    """

    suffixes = frozenset({".csv", ".tsv"})
    streams = True

    def __init__(self, *, as_sheet: bool = False) -> None:
        """With `as_sheet`, a table without a column of texts is read as a sheet instead of being unreadable."""
        self._as_sheet = as_sheet

    def read(self, file: OpenFile) -> Iterator[Document]:
        try:
            yield from row_documents(file, _records(file))
        except NoTextColumnError:
            if not self._as_sheet:
                raise
            file.stream.seek(0)
            yield _sheet(file)


def _sheet(file: OpenFile) -> Document:
    """All columns as the lines of one document."""
    cells = ((number, [one for one in map(_cell, count(), row) if one.text]) for number, row in _rows(file))
    sheet = sheet_document(file, "", file.name, ((number, row) for number, row in cells if row))
    return replace(sheet, id=file.path, headings=sheet.headings[1:], record=None)


def _cell(column: int, value: str) -> Cell:
    text = cell_text(value)
    return Cell(column, text, is_text=any(map(str.isalpha, text)))


def _records(file: OpenFile) -> Iterator[Mapping[str, str | None]]:
    """The columns that hold texts and ids, row by row."""
    rows = (row for _, row in _rows(file) if row)
    names = next(rows, [])
    chosen: list[tuple[str, int]] = []  # names and indices of columns
    for row in rows:
        if not chosen:
            last = {name: column for column, name in enumerate(names)}
            chosen = [(name, last[name]) for name in find_columns(names, file).names() if name in last]
        yield {name: row[column] if column < len(row) else None for name, column in chosen}


def _rows(file: OpenFile) -> Iterator[tuple[int, list[str]]]:
    """The rows, each with the number of the line in which it ends; raises UnreadableError."""
    lines = io.TextIOWrapper(cast(BinaryIO, file.stream), stream_encoding(file.stream), "replace", newline="")
    try:
        yield from _parsed(lines, file)
    finally:
        lines.detach()  # the caller closes the stream


def _parsed(lines: TextIO, file: OpenFile) -> Iterator[tuple[int, list[str]]]:
    columns = file.columns
    known = (*TEXT_COLUMNS, *ID_COLUMNS, "title", columns.text, columns.id, columns.title, columns.document)
    delimiters = "\t,;|" if file.name.lower().endswith(".tsv") else DELIMITERS
    header = lines.readline(MAX_FIELD)
    start = header.strip("\r\n")
    if start[:4].lower() == "sep=" and len(start) == 5:  # a first line for Excel, which names the delimiter
        delimiter, header = start[4], lines.readline(MAX_FIELD)
    else:
        delimiter = _delimiter(header, delimiters, known)
    csv.field_size_limit(MAX_FIELD)
    rows = csv.reader(_bounded(header, lines), delimiter=delimiter)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise UnreadableError(f"line {rows.line_num} is not CSV ({error})") from None


def _bounded(header: str, lines: TextIO) -> Iterator[str]:
    for number, line in enumerate(chain([header], iter(lambda: lines.readline(MAX_FIELD), "")), start=1):
        if len(line) >= MAX_FIELD:
            raise UnreadableError(f"line {number} is longer than {len(line) / 1e6:g} million characters")
        yield line


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

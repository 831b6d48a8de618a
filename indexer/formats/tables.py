"""Read tables in CSV, TSV and Parquet files: a row is a record, or the line of a table."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, dropwhile, islice, pairwise, zip_longest
from statistics import median, mode
from typing import Any

from indexer.formats.encoding import stream_lines
from indexer.formats.fields import MAX_FIELDS
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.records import ID_COLUMNS, TEXT_COLUMNS, Row, find_columns, listed, row_documents

MAX_FIELD = 20_000_000  # characters of a field, and of a line; an open quote makes the rest of the file one field
NONE = "\x1f"  # the delimiter of a file of one column, whose text may contain all the others
FIRST_ROWS = 20  # which show the delimiter, and where the names of the columns are
LEAST_COLUMNS = 3  # of a table below lines that have fewer; prose often has a comma in each line

_VALUE = re.compile(
    r"(?P<date>\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ][\d:.,+-]+Z?)?)"
    r"|(?P<number>[-+(]?[$€£¥]? ?(?!(?:19|20)\d\d$)\d[\d.,' ]*[%)]?(?: ?[$€£¥]| [A-Z]{3})?)"  # a year may be a name
)
# A mark after a backslash, in a cell that begins with one. At the end of a cell, it would be that of a path.
_ESCAPED = re.compile(r'(?:[^"]*[,;|\t] *)?"[^\n]*\\"\w')


class Delimited(Format):
    """Tables in which each line is a row. The first line usually has the names of the columns."""

    suffixes = frozenset({".csv", ".tsv", ".psv"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        yield from row_documents(file, _records(file))


def _records(file: OpenFile) -> Iterator[Row]:
    """The rows below the names of the columns. What stands above them, and a table without names, has only values."""
    rows = ((line, row) for line, row in _rows(file) if any(map(str.strip, row)))
    first = [*islice(rows, FIRST_ROWS)]
    names = [*map(str.strip, first[0][1])] if first else []
    found = find_columns(names, file)
    header = _header(first) if found.text is None else 0
    names = [*map(str.strip, first[header][1])] if header else names
    for number, (line, row) in enumerate(chain(first, rows)):
        is_below = header is not None and number > header
        columns = [*zip_longest(names[: len(row)] if is_below else (), row, fillvalue="")]
        if number != header:
            yield number + (header is None), line, found, columns


def _header(rows: list[tuple[int, list[str]]]) -> int | None:
    """The number of the row of names, after lines above the table; None if that row is data as those below it."""
    is_note = [row[0][:1] == "#" for _, row in rows[:2]]
    if is_note == [True, True] or (is_note == [True, False] and len(rows[0][1]) != len(rows[-1][1])):
        header = _header(rows[1:])
        return None if header is None else header + 1
    # A column may have no name, but a title above the table leaves the last cells empty.
    lengths = [max((at for at, cell in enumerate(row, start=1) if cell.strip()), default=0) for _, row in rows]
    if len(rows) < 2:
        return None
    header = next(number for number, length in enumerate(lengths) if length >= median(lengths))
    kinds = [[_kind(cell) for cell in row] for _, row in rows]
    kinds.append([])
    is_named = not any(kinds[header]) and any(kinds[header + 1])
    if header == 1 and not is_named and rows[1][0] - rows[0][0] == 1 and 2 * lengths[0] > lengths[1]:
        header = 0  # directly above the other rows, which have more cells than names
    is_data = (one and one == other for one, other in zip(kinds[header], kinds[header + 1], strict=False))
    return None if any(is_data) else header


def _kind(cell: str) -> str | None:
    found = _VALUE.fullmatch(cell.strip())
    return found and found.lastgroup


def _rows(file: OpenFile) -> Iterator[tuple[int, list[str]]]:
    """The rows, each with the number of the line in which it begins; raises UnreadableError."""
    columns = file.columns
    known = (*TEXT_COLUMNS, *ID_COLUMNS, "title", columns.text, columns.id, columns.title, columns.document)
    delimiters = "\t,;|" if file.name.lower().endswith(".tsv") else ",;\t|"
    csv.field_size_limit(MAX_FIELD)
    lines = stream_lines(file.stream, MAX_FIELD)
    first = [*islice(lines, FIRST_ROWS)]
    start, before = first[0].strip("\r\n") if first else "", 0
    if start[:4].lower() == "sep=" and len(start) == 5:  # a first line for Excel, which names the delimiter
        delimiter, before = start[4], 1
    else:
        delimiter = _delimiter(first, delimiters, known)
    n_tabs = next(iter(first[before:]), "").count("\t")
    usual = (_usual_quotes(*both, delimiter, n_tabs) for both in pairwise(chain(first[before:], lines, [""])))
    rows, begin = csv.reader(usual, delimiter=delimiter), before + 1
    try:
        for row in rows:
            yield begin, row
            begin = before + rows.line_num + 1
    except csv.Error as error:
        raise UnreadableError(f"line {before + rows.line_num} is not CSV ({error})") from None


def _usual_quotes(line: str, after: str, delimiter: str, n_tabs: int) -> str:
    """A line with two quotation marks for one after a backslash, and without blanks before a cell in such marks.

    In TSV, a quotation mark is often part of the text. It is so here if this line and the next one have as many tabs as
    the first line, because a cell of several lines divides its row into lines with fewer tabs.
    """
    if '\\"' in line and _ESCAPED.match(line):
        line = line.replace('\\"', '""')
    if delimiter == "\t" and line.count('"') % 2 and n_tabs == line.count("\t") == after.count("\t"):
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) > 1 and any(cell[:1] == '"' and cell.count('"') % 2 for cell in cells):
            return "\t".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"
    if f'{delimiter} "' in line:
        sign = re.escape(delimiter)
        line = re.sub(rf'(?<={sign}) +(?="(?:[^"]|"")*"\s*(?:{sign}|$))', "", line)
    return line


def _delimiter(lines: Sequence[str], delimiters: str, known: Sequence[str | None]) -> str:
    """The delimiter that finds most of the known names in the first row, or else most rows of the same length."""
    below = [*dropwhile(lambda line: line[:1] == "#", lines)]  # notes

    def quality(delimiter: str) -> tuple[int, int, int, int]:
        try:
            rows = [row for row in csv.reader(below or lines, delimiter=delimiter) if row]
        except csv.Error:
            rows = []
        lengths = [len(row) for row in rows] or [0]
        usual = mode(lengths)
        is_table = usual >= (2 if lengths[0] == usual else LEAST_COLUMNS)
        n_known = len({name.strip() for row in rows[:1] for name in row}.intersection(filter(None, known)))
        return n_known, lengths.count(usual) if is_table else 0, usual, lengths[0]

    best = max(delimiters, key=quality)  # the first of several equally good ones
    _, n_rows, _, n_names = quality(best)
    return best if n_rows or n_names > 1 else NONE


ROWS = 128  # at a time, because a value that is stored once may be unpacked in every row
# The types of columns beside a text that are fields: plain ones, and lists of texts
_FIELD = re.compile(
    r"(?:large_)?string|bool|u?int\d+|halffloat|float|double|(?:date|timestamp|decimal).*|list<\w+: string.*"
    r"|dictionary<values=string.*"
)
BUFFER = 1 << 20  # bytes of a column that are read at a time


class Parquet(Format):
    """Parquet tables."""

    suffixes = frozenset({".parquet"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        yield from row_documents(file, _parquet_rows(file))


def _parquet_rows(file: OpenFile) -> Iterator[Row]:
    """The columns that are read, row by row; raises UnreadableError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(file.stream, buffer_size=BUFFER)
        schema = table.schema_arrow
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise UnreadableError("broken Parquet file") from None
    names = [str(name) for name in schema.names]
    found = find_columns(names, file)
    wanted = names
    if found.text is not None:
        fields = [name for name, kind in zip(names, schema.types, strict=True) if _FIELD.fullmatch(str(kind))][
            :MAX_FIELDS
        ]
        chosen = (found.text, found.id, found.title, found.document)
        wanted = [*dict.fromkeys(name for name in (*chosen, *fields) if name in names)]
    n_read = 0
    try:
        for batch in table.iter_batches(ROWS, columns=wanted):
            columns = batch.schema.names
            values = {name: _values(batch.column(columns.index(name)), name) for name in wanted}
            for row in range(batch.num_rows):
                number = n_read + row + 1
                yield number, number, found, [(name, column[row]) for name, column in values.items()]
            n_read += batch.num_rows
    except (pa.ArrowException, OSError):
        raise UnreadableError("broken Parquet file") from None
    if n_read != table.metadata.num_rows:  # pages or row groups are missing, or the footer is forged
        raise UnreadableError(f"broken Parquet file: {n_read:,} rows instead of {table.metadata.num_rows:,}")


def _values(column: Any, name: str) -> list[Any]:
    """Python values, or text if Python has no such value, as for a date in the year 20,000."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        try:  # many writers do not declare that a column of bytes is text in UTF-8
            return [None if value is None else value.decode() for value in column.to_pylist()]
        except UnicodeDecodeError:
            raise UnreadableError(f"column {listed([name])} has bytes that are not UTF-8 text") from None
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        values = column.cast(pa.binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "replace") for value in values]
    except (ValueError, OverflowError, KeyError, TypeError, ImportError, pa.ArrowException):
        for target in (pa.string(), pa.int64()):
            try:
                return list(column.cast(target).to_pylist())
            except (ValueError, OverflowError, pa.ArrowException):
                continue
    raise UnreadableError(f"column {listed([name])} of type {listed([kind])} cannot be converted to text")

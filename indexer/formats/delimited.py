"""CSV and TSV: rows as mappings of the columns that are needed."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from typing import BinaryIO, TextIO, cast

from indexer.formats.encoding import stream_encoding
from indexer.formats.unreadable import UnreadableError

MAX_FIELD = 20_000_000  # characters of a field, and of a line; an open quote takes in the rest of the file
MAX_HEADER = 1_000_000
DELIMITERS = ",;\t|"
NONE = "\x1f"  # for a file of one column, whose text may hold any of the others

Choose = Callable[[list[str]], list[str]]


def delimited_rows(
    stream: BufferedIOBase, suffix: str, choose: Choose, known: Sequence[str | None]
) -> Iterator[Mapping[str, str | None]]:
    """The columns that `choose` takes from the header, row by row; raises UnreadableError.

    The delimiter is the one that finds most of the `known` names in the header, or else most names.
    """
    encoding = stream_encoding(stream)
    lines = io.TextIOWrapper(cast(BinaryIO, stream), encoding.name, encoding.errors, newline="")
    try:
        yield from _rows(lines, "\t,;|" if suffix == ".tsv" else DELIMITERS, choose, known)
    except UnicodeDecodeError:
        raise UnreadableError(f"not UTF-8 text, though marked as {encoding.name}") from None
    finally:
        lines.detach()  # the caller closes the stream


def _rows(
    lines: TextIO, delimiters: str, choose: Choose, known: Sequence[str | None]
) -> Iterator[Mapping[str, str | None]]:
    header = lines.readline(MAX_HEADER)
    start = header.strip("\r\n")
    if start[:4].lower() == "sep=" and len(start) == 5:  # how Excel is told
        delimiter, header = start[4], lines.readline(MAX_HEADER)
    else:
        delimiter = _delimiter(header, delimiters, known)
    csv.field_size_limit(MAX_FIELD)
    rows = csv.reader(_bounded(header, lines), delimiter=delimiter)
    try:
        names: list[str] = next((row for row in rows if row), [])
        places: list[tuple[str, int]] = []
        for row in rows:
            if not row:
                continue
            if not places:
                last = {name: place for place, name in enumerate(names)}
                places = [(name, last[name]) for name in choose(names) if name in last]
            yield {name: row[place] if place < len(row) else None for name, place in places}
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

    if header.startswith('"') and header.count('"') % 2:  # a name that goes on in the next line
        return delimiters[0]
    best = max(delimiters, key=names_found)  # the first of those that are equally good
    return best if names_found(best)[1] > 1 else NONE

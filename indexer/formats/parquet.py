"""Read Parquet files: a row is a record, whose values may have any type."""

import re
from collections.abc import Iterator
from typing import Any

from indexer.formats.fields import MAX_FIELDS
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.records import Row, find_columns, listed, row_documents

ROWS = 128  # at a time, because a value that is stored once may be unpacked in every row
# The types of columns beside a text that are fields: plain ones, and lists of texts
_FIELD = re.compile(
    r"(?:large_)?string|bool|u?int\d+|halffloat|float|double|(?:date|timestamp|decimal).*|list<\w+: string.*"
    r"|dictionary<values=string.*"
)
BUFFER = 1 << 20  # bytes of a column that are read at a time


class Parquet(Format):
    """Parquet tables. The values of a text column must be plain: lists and structures are not text."""

    suffixes = frozenset({".parquet"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        yield from row_documents(file, _rows(file))


def _rows(file: OpenFile) -> Iterator[Row]:
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
    type_of_text = None if found.text is None else schema.types[names.index(found.text)]
    if type_of_text is not None and pa.types.is_nested(type_of_text):
        raise UnreadableError(f"column {listed([found.text])} has no text but {listed([type_of_text])}")
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

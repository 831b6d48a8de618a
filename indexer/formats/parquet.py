"""Parquet: rows as mappings of the columns that are needed, whatever types they have."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from typing import Any

from indexer.formats.unreadable import UnreadableError, listed

ROWS = 128  # at a time: a value that is stored once may stand in every row, and is unpacked in each
BUFFER = 1 << 20  # bytes of a column that are read at a time

Choose = Callable[[list[str]], list[str]]


def parquet_rows(
    stream: BufferedIOBase, choose: Choose, text_columns: str | Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """The columns that `choose` takes from the schema, row by row; raises UnreadableError.

    Of `text_columns` the one that is taken has to hold plain values: lists and structures are no text.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream, buffer_size=BUFFER)
        there = file.schema_arrow
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise UnreadableError("broken Parquet file") from None
    names = [str(name) for name in there.names]
    wanted = [name for name in choose(names) if name in names]
    text = wanted[0]
    if (text == text_columns or text in text_columns) and pa.types.is_nested(there.types[names.index(text)]):
        kind = listed([there.types[names.index(text)]])
        raise UnreadableError(f"column {listed([text])} holds no text but {kind}")
    try:
        for batch in file.iter_batches(ROWS, columns=wanted):
            held = batch.schema.names
            values = {name: _values(batch.column(held.index(name)), name) for name in wanted}
            for place in range(batch.num_rows):
                yield {name: column[place] for name, column in values.items()}
    except (pa.ArrowException, OSError):
        raise UnreadableError("broken Parquet file") from None


def _values(column: Any, name: str) -> list[Any]:
    """Python values, or text where Python has no such value: a date of the year 20,000, an unknown time zone."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _decoded(column.to_pylist(), name)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_replaced(value) for value in column.cast(pa.binary()).to_pylist()]
    except (ValueError, OverflowError, KeyError, TypeError, ImportError, pa.ArrowException):
        for target in (pa.string(), pa.int64()):
            try:
                return list(column.cast(target).to_pylist())
            except (ValueError, OverflowError, pa.ArrowException):
                continue
    raise UnreadableError(f"column {listed([name])} of type {listed([kind])} cannot be converted to text")


def _replaced(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _decoded(values: list[bytes | None], name: str) -> list[Any]:
    """Many writers leave out that a column of bytes is text in UTF-8."""
    try:
        return [None if value is None else value.decode() for value in values]
    except UnicodeDecodeError:
        raise UnreadableError(f"column {listed([name])} holds bytes that are not UTF-8 text") from None

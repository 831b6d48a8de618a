"""The file account: what an index did with every file and every ignored folder, one row each, in files.parquet.

It is not part of the manifest, because every query reads that and a folder may hold 100,000 files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from cdesearch.errors import IndexDamagedError
from cdesearch.store.folder import index_of, rebuild, unreadable
from cdesearch.store.parquet_pages import pages

FILES = "files.parquet"
ROWS = 50_000  # written at a time
READ_ROWS = 500  # read at a time

# A small file can decompress to more than fits into memory: these limits are checked before and while it is read.
MAX_BYTES = 1 << 28  # of one column of a group of ROWS, decompressed
MAX_LENGTH = 1 << 16  # of a path or a reason, in bytes
# None (dictionary pages), PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY. Delta encodings store only how a text differs
# from the one before, so that the size of a page is no limit for its texts.
ENCODINGS = {None, 0, 2, 3, 8}
MAX_ROWS_PER_BYTE = 8  # of the file; names that differ in their last digit alone take two bytes each

Outcome = Literal["indexed", "ignored", "skipped"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("mtime_ns", pa.int64()),
        pa.field("file_hash", pa.string()),
    ]
)
_TEXTS = [field.name for field in SCHEMA if field.type == pa.string()]
_READ_SCHEMA = pa.schema(  # dictionary-encoded: a text that many rows share is in memory once
    [
        pa.field(field.name, pa.dictionary(pa.int32(), pa.string()), field.nullable) if field.name in _TEXTS else field
        for field in SCHEMA
    ]
)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file that was found, or a folder that was not read, whose path ends with "/"."""

    path: str
    outcome: Outcome
    reason: str = ""  # the rule that ignores it, why it was skipped, or what of an indexed file could not be read
    size: int | None = None  # of indexed and skipped files
    mtime_ns: int | None = None
    file_hash: str | None = None  # of the content that was read


def write_files(records: Sequence[FileRecord], file: Path) -> None:
    """Write the rows as Parquet."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        for start in range(0, len(records), ROWS):
            rows = [asdict(record) for record in records[start : start + ROWS]]
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def read_files(generation: Path) -> Iterator[FileRecord]:
    """The rows of a generation, in the order of the walk; raises IndexDamagedError."""
    import pyarrow.parquet as pq

    file = generation / FILES
    try:
        with pq.ParquetFile(file, read_dictionary=_TEXTS) as parquet:
            if not parquet.schema_arrow.equals(_READ_SCHEMA):
                raise pa.ArrowInvalid("not the columns of a list of files")
            _check_sizes(parquet.metadata, file)
            for batch in parquet.iter_batches(READ_ROWS):
                for row in _decoded(batch).to_pylist():
                    if row["outcome"] not in OUTCOMES:
                        raise pa.ArrowInvalid(f"unknown outcome {row['outcome']!r}")
                    yield FileRecord(**row)
    except PermissionError as error:
        raise unreadable(file, error) from None
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:  # also: text that is not UTF-8
        raise IndexDamagedError(
            f"{file} cannot be read ({' '.join(str(error).split())}).", rebuild(index_of(file))
        ) from None


def _check_sizes(metadata: Any, file: Path) -> None:
    """Raise ValueError if the file states more rows, or has larger pages, than the limits above."""
    if metadata.num_rows > MAX_ROWS_PER_BYTE * file.stat().st_size:
        raise ValueError("too many rows")
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            offsets = (column.dictionary_page_offset, column.data_page_offset)
            start = min(offset for offset in offsets if offset is not None)
            total = 0
            for page in pages(file, start, column.total_compressed_size):
                total += page.unpacked_bytes
                if total > MAX_BYTES or page.encoding not in ENCODINGS:
                    raise ValueError("too much data in one column")


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its dictionary-encoded texts decoded; raises ValueError if one is too long."""
    import pyarrow.compute as pc

    for column, name in enumerate(batch.schema.names):
        if name in _TEXTS:
            lengths = pc.binary_length(batch[name].dictionary)
            if (pc.max(lengths).as_py() or 0) > MAX_LENGTH:
                raise ValueError(f"a {name} is too long")
            batch = batch.set_column(column, SCHEMA.field(name), batch[name].dictionary_decode())
    return batch

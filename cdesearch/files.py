"""What became of every file that an index has seen: one row a file or left-out folder, in a file of its own.

It stands apart from the manifest, which every query reads: a folder may hold 100,000 files that no query asks for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from cdesearch.errors import IndexDamagedError
from cdesearch.manifest import REBUILD

FILES = "files.parquet"
ROWS = 50_000  # written at a time

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


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file that was seen, or a folder that was not looked into ("/" at the end of its path)."""

    path: str
    outcome: Outcome
    reason: str = ""  # the rule that ignores it, or why it was skipped
    size: int | None = None  # of files that were read or should have been
    mtime_ns: int | None = None
    file_hash: str | None = None  # of what was read


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
        with pq.ParquetFile(file) as parquet:
            if not parquet.schema_arrow.equals(SCHEMA):
                raise pa.ArrowInvalid("not the columns of a list of files")
            for batch in parquet.iter_batches(ROWS):
                for row in batch.to_pylist():
                    if row["outcome"] not in OUTCOMES:
                        raise pa.ArrowInvalid(f"unknown outcome {row['outcome']!r}")
                    yield FileRecord(**row)
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: text that is not UTF-8
        raise IndexDamagedError(f"{file} cannot be read ({' '.join(str(error).split())}).", REBUILD) from None

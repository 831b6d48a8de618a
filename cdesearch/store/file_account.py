"""The file account: what an index did with every file and every ignored folder, one line of JSON each, in files.jsonl.

It is not part of the manifest, because every query reads the manifest, and a folder may contain 100,000 files. It is
not compressed, so that reading a forged one takes no more memory than one line, and time in proportion to its size.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Literal, get_args

from cdesearch.errors import IndexDamagedError
from cdesearch.store.folder import index_of, reading, rebuild_remedy

FILES = "files.jsonl"
MAX_LINE = 1 << 18  # bytes; a line holds a path, a reason, a hash and three numbers

Outcome = Literal["indexed", "ignored", "skipped"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
MAX_INTEGER = 2**63


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file that was found, or a folder that was not read, whose path ends with "/"."""

    path: str
    outcome: Outcome
    reason: str = ""  # the rule that ignores it, why it was skipped, or what of an indexed file could not be read
    size: int | None = None  # of indexed and skipped files
    mtime_ns: int | None = None
    file_hash: str | None = None  # of the content that was read
    ctime_ns: int | None = None  # of the last change of contents or attributes; None in an index of an older version


NAMES = tuple(field.name for field in fields(FileRecord))
_OLD_TYPES = frozenset(product((str,), (str,), (str,), (int, NoneType), (int, NoneType), (str, NoneType)))
TYPES = _OLD_TYPES | {(*types, last) for types in _OLD_TYPES for last in (int, NoneType)}  # of the values of one line


def write_files(records: Sequence[FileRecord], file: Path) -> None:
    """Write one line for each record: the values of its fields."""
    values = attrgetter(*NAMES)
    with file.open("x", encoding="utf-8", newline="\n") as lines:
        lines.writelines(json.dumps(values(record), ensure_ascii=False) + "\n" for record in records)


def read_files(generation: Path) -> Iterator[FileRecord]:
    """The records of a generation, in the order of the walk; raises IndexStateError."""
    file = generation / FILES
    try:
        with reading(file), file.open("rb") as lines:
            while line := lines.readline(MAX_LINE):
                yield _record(line.decode())
    except (OSError, ValueError, RecursionError) as error:  # a ValueError also for text that is not UTF-8
        raise IndexDamagedError(
            f"{file} cannot be read ({' '.join(str(error).split())}).", rebuild_remedy(index_of(file))
        ) from None


def _record(line: str) -> FileRecord:
    """The record of one line; raises ValueError unless every value has its type."""
    values = json.loads(line)
    if not isinstance(values, list) or tuple(map(type, values)) not in TYPES:
        raise ValueError(f"a line without the {len(NAMES)} values {', '.join(NAMES)}")
    if any(abs(value or 0) > MAX_INTEGER for value in (*values[3:5], *values[6:])):
        raise ValueError("an impossible number")
    if "\\u" in line:  # an escape may be half of a surrogate pair, for which `encode` raises ValueError
        "".join(value for value in values if isinstance(value, str)).encode()
    if values[1] not in OUTCOMES:
        raise ValueError(f"unknown outcome {values[1]!r:.50}")
    return FileRecord(*values)

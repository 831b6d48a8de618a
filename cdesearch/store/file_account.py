"""The file account: what an index did with every file and every ignored folder, one line of JSON each, in files.jsonl.

It is not part of the manifest, because every query reads the manifest, and a folder may contain 100,000 files. It is
not compressed, so that reading a forged one takes no more memory than one line, and time in proportion to its size.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from cdesearch.errors import IndexDamagedError
from cdesearch.store.guard import reading
from cdesearch.store.layout import index_of, rebuild_remedy
from cdesearch.store.place import Place

FILES = "files.jsonl"
MAX_LINE = 1 << 18  # bytes; a line holds a path, a reason, a hash and three numbers

Outcome = Literal["indexed", "ignored", "skipped"]
NO_TEXT = "no text"  # the reason in the record of an indexed file that has no chunks
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class FileRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file that was found, or a folder that was not read, whose path ends with "/"."""

    path: str
    outcome: Outcome
    reason: str = ""  # the rule that ignores it, why it was skipped, or what of an indexed file could not be read
    size: int | None = None  # of indexed and skipped files
    mtime_ns: int | None = None
    file_hash: str | None = None  # of the content that was read
    ctime_ns: int | None = None  # of the last change of contents or attributes, of indexed and skipped files

    @property
    def is_in_part(self) -> bool:
        """Whether it is indexed without the parts that could not be read."""
        return self.outcome == "indexed" and self.reason not in ("", NO_TEXT)


def write_files(records: Sequence[FileRecord], file: Path) -> None:
    """Write one line for each record: the values of its fields."""
    with file.open("xb") as lines:
        lines.write(msgspec.json.Encoder().encode_lines(records))


def read_files(generation: Path, place: Place | None = None) -> Iterator[FileRecord]:
    """The records of a generation of the index at `place`, in the order of the walk; raises IndexStateError.

    The default place is the folder that contains the generation.
    """
    file = generation / FILES
    decoder = msgspec.json.Decoder(FileRecord)
    try:
        with reading(file), file.open("rb") as lines:
            while line := lines.readline(MAX_LINE):
                yield decoder.decode(line)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:  # a ValueError: text that is not UTF-8
        raise IndexDamagedError(f"{file} cannot be read ({error}).", rebuild_remedy(place or index_of(file))) from None

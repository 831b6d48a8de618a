"""How a worker reads files: limits on the time, memory and text of a file, and how it is kept within them."""

import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from indexer.formats.format import Columns, UnreadableError

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of reading one file."""

    seconds: float = 60  # without progress, which is a new chunk or, in files of records, a byte read
    part_seconds: float = 20  # for an attachment, or a file in an archive, which is then left out of its file
    parts_seconds: float = 300  # for all of them in a file, and a second more for each `bytes_per_second` of the file
    bytes_per_second: int = 100_000
    memory_bytes: int = 2_000_000_000  # in addition to what a worker needs before it reads a file; only on Linux
    # A small file may contain a huge text, because it is compressed or because Parquet stores a repeated value once.
    characters: int = 200_000_000  # of text in one document, and in all documents of a small file
    characters_per_byte: int = 50  # of text in all documents of a large file; text rarely compresses to a twentieth
    records: int = 100_000  # in a small file; a large file may have one record for each of its bytes
    # In a large file that is compressed or may contain compressed files, in which equal records take almost no bytes.
    bytes_per_packed_record: int = 10

    def check_unpacked(self, characters: int, records: int, size: int, *, is_packed: bool) -> None:
        """Raise UnreadableError if a file of `size` bytes has unpacked to more than it may.

        `is_packed` is whether the file is compressed or may contain compressed files.
        """
        most = max(self.characters, self.characters_per_byte * size)
        if characters > most:
            raise UnreadableError(f"unpacks to more than {most:,} characters of text")
        most = max(self.records, size // self.bytes_per_packed_record if is_packed else size)
        if records > most:
            raise UnreadableError(f"unpacks to more than {most:,} records")


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings that a worker receives once."""

    tokenizer: str  # JSON
    max_tokens: int
    columns: Columns
    max_file_bytes: int
    limits: Limits
    has_ocr: bool = False


def bound_memory(limits: Limits) -> None:
    """Limit the memory of this process to its present memory plus the limit. Only Linux can do this."""
    present = data_bytes()
    if present is not None:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = present + limits.memory_bytes
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def data_bytes() -> int | None:
    """Bytes of writable memory of this process, as RLIMIT_DATA counts them; None if the system does not report it."""
    if sys.platform != "linux":
        return None
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def die_with(parent: int) -> None:
    """End this process when its parent ends, however busy this process is. Only Linux guarantees that.

    Elsewhere a worker ends when it next looks for a task.
    """
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(0)

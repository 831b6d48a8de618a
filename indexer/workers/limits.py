"""How a worker reads files: limits on the time, memory and text of a file."""

from dataclasses import dataclass

from indexer.formats.format import Columns, UnreadableError


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

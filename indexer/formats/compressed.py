"""Read compressed files of any other format."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedIOBase
from typing import Any, BinaryIO, cast

from indexer.formats.format import Document, Format, OpenFile, UnreadableError

MAX_UNPACKED = 100_000_000  # bytes of a file that its format reads whole
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}


class Compressed(Format):
    """A compressed file of one other format."""

    suffixes = frozenset()  # the registry finds the inner format by the name without the suffix of the compression

    def __init__(self, inner: Format) -> None:
        self._inner = inner
        self.streams = inner.streams

    def read(self, file: OpenFile) -> Iterator[Document]:
        path, _, suffix = file.path.rpartition(".")
        name = NAMES[f".{suffix.lower()}"]
        try:
            with _unpacked(file.stream, name) as stream:
                contents = stream
                if not self.streams:
                    contents = io.BytesIO(stream.read(MAX_UNPACKED + 1))
                    if len(contents.getbuffer()) > MAX_UNPACKED:
                        raise UnreadableError(f"unpacks to more than {MAX_UNPACKED / 1e6:g} MB")
                for document in self._inner.read(replace(file, path=path, stream=contents)):
                    names = (file.path + name.removeprefix(path) for name in (document.id, document.path))
                    yield replace(document, id=next(names), path=next(names))
        except _BROKEN:
            raise UnreadableError(f"broken {name} file") from None


def _unpacked(stream: BufferedIOBase, name: str) -> BufferedIOBase:
    """The unpacked contents; seeking backwards unpacks again."""
    if name == "gzip":
        return gzip.GzipFile(fileobj=stream)
    if name == "bzip2":
        return bz2.BZ2File(stream)
    if name == "xz":
        return lzma.LZMAFile(cast(BinaryIO, stream))
    return io.BufferedReader(_Zstandard(stream.read()))


class _Zstandard(io.RawIOBase):
    """The contents of data in Zstandard, which Python itself reads from version 3.14 on."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self.seek(0)

    def readinto(self, buffer: Any) -> int:
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        import pyarrow as pa

        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation
        self._unpacked: Any = pa.CompressedInputStream(pa.BufferReader(self._packed), "zstd")
        self._position = 0
        return 0

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

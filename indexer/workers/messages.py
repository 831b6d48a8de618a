"""The messages between the pool and its workers: a header in JSON, followed by Arrow record batches.

Nothing is pickled, so that a worker that a hostile file controls cannot make the pool run code.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from cdesearch.store.schema import chunk_schema

CHUNKS = chunk_schema(None)
DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("n_chunks", pa.int32(), nullable=False),
        pa.field("n_records", pa.int32(), nullable=False),
    ]
)

_SIZES = struct.Struct(">III")  # bytes of the header, of the chunks, of the documents
MOST_BYTES = 1 << 30  # of one part; a worker sends far smaller ones


@dataclass(frozen=True, slots=True)
class Message:
    """A message between pool and worker."""

    header: dict[str, Any]
    chunks: bytes = b""  # a serialised record batch
    documents: bytes = b""  # a serialised record batch

    @property
    def size(self) -> int:
        """The size of both batches in bytes."""
        return len(self.chunks) + len(self.documents)


def send(stream: BinaryIO, message: Message) -> None:
    """Write one message and flush."""
    header = json.dumps(message.header).encode()
    parts: Sequence[bytes] = (header, message.chunks, message.documents)
    stream.write(_SIZES.pack(*map(len, parts)))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the stream, also if it ends within a message."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    parts = []
    for size in _SIZES.unpack(sizes):
        part = stream.read(size) if size <= MOST_BYTES else b""
        if len(part) < size:
            return None
        parts.append(part)
    header, chunks, documents = parts
    try:
        decoded = json.loads(header)
    except ValueError:
        return None
    return Message(decoded, chunks, documents) if isinstance(decoded, dict) else None

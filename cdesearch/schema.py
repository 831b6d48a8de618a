"""The values that travel through the product, and their Arrow columns on disk."""

from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is embedded and returned.

    `text` is what the model and the full-text index see: title and heading trail first, then the chunk's own
    words from `body_start` on, so each word is stored once.
    """

    id: str  # stable over runs: hash of document id, ordinal, place and text
    document_id: str
    ordinal: int  # position in its document, from 0
    path: str  # of the source file, relative to the root of the index, "/" between parts
    title: str
    trail: tuple[str, ...]  # headings above the chunk, outermost first
    text: str
    body_start: int
    line_start: int | None  # 1-based, inclusive; None where the format has no lines (PDF, DOCX, HTML)
    line_end: int | None
    page: int | None  # 1-based, where the format has pages

    @property
    def content_hash(self) -> str:
        """Of `text`: equal texts need one embedding."""
        return text_hash(self.text)

    @property
    def body(self) -> str:
        """The chunk's own words, without title and heading trail."""
        return self.text[self.body_start :]

    @property
    def location(self) -> str:
        """`path:line`, `path#page=n`, or the path alone."""
        if self.page is not None:
            return f"{self.path}#page={self.page}"
        return self.path if self.line_start is None else f"{self.path}:{self.line_start}"


def text_hash(text: str) -> str:
    """The same on every machine."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer to a query. Scores: higher is better."""

    rank: int  # from 1
    score: float  # what the ranking used: fused, dense or text
    chunk: Chunk
    dense_score: float | None  # cosine of query and chunk
    text_score: float | None  # BM25


def chunk_schema(dimension: int) -> pa.Schema:
    """Columns of the `chunks` table; `vector` is float32 of length `dimension`."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document_id", pa.string(), nullable=False),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("path", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("trail", pa.list_(pa.string()), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("body_start", pa.int32(), nullable=False),
            pa.field("line_start", pa.int32()),
            pa.field("line_end", pa.int32()),
            pa.field("page", pa.int32()),
            pa.field("content_hash", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False),
        ]
    )


# What the index remembers of a document, to know whether its file has changed.
DOCUMENT_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("file_hash", pa.string(), nullable=False),
        pa.field("n_chunks", pa.int32(), nullable=False),
    ]
)

"""The values that travel through the product, and their Arrow columns on disk."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is embedded and returned.

    `text` is what the model and the full-text index see: title and heading trail first, then the chunk's own
    words from `body_start` on, so each word is stored once.
    """

    id: str  # stable over runs: hash of document id, record, ordinal, place and text
    document_id: str
    record: str | None  # id of the JSONL, CSV or Parquet record that it is cut from
    ordinal: int  # position in its document or record, from 0
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


# A column of a hit costs a third of a millisecond to read: what no search filters by shares one.
PLACE = ("record", "ordinal", "title", "trail", "body_start", "line_start", "line_end", "page")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MOST = 1 << 53  # of lines, pages and chunks
CHUNK_COLUMNS = ["id", "document_id", "path", "text", "place"]


def chunk_schema(dimension: int | None) -> pa.Schema:
    """Columns of the `chunks` table; `vector` is float32 of `dimension` numbers, None leaves it out.

    A vector is the chunk's own with its document added (`cdesearch.context.document`), so not of length 1.
    """
    columns = [
        pa.field("id", pa.string(), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("place", pa.string(), nullable=False),  # JSON
        pa.field("content_hash", pa.string(), nullable=False),
    ]
    if dimension is not None:
        columns.append(pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False))
    return pa.schema(columns)


def chunk_to_row(chunk: Chunk) -> dict[str, str]:
    """Its columns, without the vector."""
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "path": chunk.path,
        "text": chunk.text,
        "place": json.dumps({name: getattr(chunk, name) for name in PLACE}),
        "content_hash": chunk.content_hash,
    }


def chunk_from_row(row: Mapping[str, Any]) -> Chunk:
    """What `chunk_to_row` wrote; raises ValueError where it is broken.

    Every value is checked: whoever made the index chose them all.
    """
    try:
        place = json.loads(row["place"])
    except RecursionError:
        raise ValueError("a chunk's place is nested too deep") from None
    if not isinstance(place, dict) or place.keys() != set(PLACE):
        raise ValueError("a chunk's place has other fields than were written")
    trail = place["trail"]
    numbers = [place[name] for name in ("line_start", "line_end", "page") if place[name] is not None]
    if not (
        _are_texts([place["title"], *([] if place["record"] is None else [place["record"]])])
        and isinstance(trail, list)
        and _are_texts(trail)
        and all(_is_number(number, _MOST) for number in [place["ordinal"], *numbers])
        and _is_number(place["body_start"], len(row["text"]))
    ):
        raise ValueError("a chunk's place has a value that cannot be")
    place["trail"] = tuple(trail)
    return Chunk(id=row["id"], document_id=row["document_id"], path=row["path"], text=row["text"], **place)


def _are_texts(values: list[Any]) -> bool:
    """Whether all are Unicode texts: JSON can hold half of a character, which nothing could print."""
    return all(isinstance(value, str) and not _SURROGATE.search(value) for value in values)


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


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
        pa.field("n_records", pa.int32(), nullable=False),  # that are its chunks; of a file, 1
    ]
)

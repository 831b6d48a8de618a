"""Chunks and hits, and the Arrow columns in which an index stores chunks and documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from cdesearch.store.line_places import NO_PLACES, LinePlaces, Number, value_at
from cdesearch.words.known import ENGLISH

if TYPE_CHECKING:
    import pyarrow as pa

    from cdesearch.store.vector_format import VectorFormat


TARGETS = ("http://", "https://", "mailto:")  # the starts of addresses that are found by their words
MOST_TARGETS = 20  # of a chunk
EDGE = 10_000  # the right and the lower edge of a page


class Inline(NamedTuple):
    """An image, a link, an emphasis or a line of a scanned page, of which the text itself has only the words."""

    offset: Number  # of its words in the text, or without words of what follows it, in characters
    words: str  # the description of an image, or the words that are linked or emphasised, as the text has them
    element: str  # the name of its HTML element, or "line"
    address: str = ""  # of the image or the target, relative to the document
    # The page of a line, from 1, and its left, upper, right and lower edge there, from 0 to EDGE
    edges: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """The passage of a document that is embedded and returned.

    The model and the full-text index read `text`: first the title and the headings, then the chunk's own words, which
    start at the character `body_start`. So each word is stored once.
    """

    id: str  # the same in every run: a hash of document id, record, ordinal, location and text
    document_id: str
    record: str | None  # id of the JSONL, CSV or Parquet record that contains it
    ordinal: int  # position in its document or record, from 0
    path: str  # of the source file, relative to the root of the index, "/" between parts
    title: str
    trail: tuple[str, ...]  # headings above its first line, outermost first
    text: str
    body_start: int
    line_start: int | None  # 1-based, inclusive; rows of a sheet; None if the format has no lines (PDF)
    line_end: int | None
    page: int | None  # 1-based; None if the format has no pages
    anchor: str | None = None  # the id of the element at its start, or the last one above it (HTML, electronic books)
    indent: str = ""  # of its first line of code; `text` begins with the first visible character
    places: LinePlaces = NO_PLACES  # of its other lines, as far as they differ
    inlines: tuple[Inline, ...] = ()  # of HTML and scanned pages, in the order of their starts
    fields: tuple[tuple[str, str], ...] = ()  # of its document or record, such as ("status", "open"); names may repeat
    # The line, counted from 0, of `location`: in the Python API, that of a hit with most words of the query.
    row: int = field(default=0, compare=False)

    @property
    def content_hash(self) -> str:
        """A hash of `text`: chunks with the same text share one embedding."""
        return text_hash(self.text)

    @property
    def body(self) -> str:
        """The chunk's own words, without the title and headings."""
        return self.indent + self.text[self.body_start :]

    @property
    def fields_text(self) -> str:
        """The names and values of its fields as words, without the values that are in its text."""
        return " ".join(f"{name} {value}" for name, value in self.fields if value not in self.text)

    @property
    def link_targets(self) -> str:
        """The first web and mail addresses to which its words lead, without those that are in its text."""
        targets = dict.fromkeys(one.address for one in self.inlines if one.address.startswith(TARGETS))
        return " ".join(islice((one for one in targets if one not in self.text), MOST_TARGETS))

    @property
    def location(self) -> str:
        """The location as `place_in_file` writes it."""
        return self.location_at(self.row)

    def location_at(self, n: int) -> str:
        """The location of the line that is `n` lines below the first line of the body."""
        return place_in_file(self.path, self.page, self.line_at(n), self.anchor_at(n))

    def line_at(self, n: int) -> int | None:
        """The number in the file of the line that is `n` lines below the first line of the body; None without lines.

        Older indexes do not store the gaps between rows of a sheet. The number is then that of the first row.
        """
        if self.line_start is None or self.line_end is None:
            return self.line_start
        has_gaps = self.line_end - self.line_start != self.body.rstrip().count("\n")
        if has_gaps and not self.places.numbers:
            return self.line_start
        return min(self.places.number_at(n, self.line_start), self.line_end)

    def trail_at(self, n: int) -> tuple[str, ...]:
        """The headings above the line that is `n` lines below the first line of the body, outermost first."""
        return value_at(self.places.trails, n, self.trail)

    def cells_at(self, n: int) -> str | None:
        """The cells of that line of a sheet, such as A7:D7; None in other formats, and in older indexes."""
        return None if self.record is None or self.line_start is None else self.anchor_at(n)

    def anchor_at(self, n: int) -> str | None:
        """The id of the last element that begins at or above that line, or its cells in a sheet; None without both."""
        return value_at(self.places.anchors, n, self.anchor)


def place_in_file(path: str, page: int | None, line: int | None, anchor: str | None) -> str:
    """`path#page=n`, `path:line`, `path#anchor`, or the path alone."""
    if page is not None:
        return f"{path}#page={page}"
    if line is not None:
        return f"{path}:{line}"
    return path if anchor is None else f"{path}#{anchor}"


def text_hash(text: str) -> str:
    """A hash of a text that is the same on every machine, 32 hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a query. A higher score is better."""

    rank: int  # from 1
    score: float  # that the hits are ranked by: fused, dense or text
    chunk: Chunk
    dense_score: float | None  # cosine of query and chunk
    text_score: float | None  # BM25
    confidence: float | None = None  # the estimated probability that the chunk is relevant; None if not estimated
    matches: tuple[int, ...] = ()  # the lines of the chunk, counted from 0, that match the pattern of the search
    index: str | None = None  # the name of the index, in a search of several
    # The hits of other files with the same text, see `cdesearch.search.result`.
    copies: tuple["Hit", ...] = ()


class _Place(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of a chunk by which no search filters: each column of a hit takes a third of a millisecond to read."""

    record: str | None
    ordinal: Number
    title: str
    trail: tuple[str, ...]
    body_start: Number
    line_start: Number | None
    line_end: Number | None
    page: Number | None
    anchor: str | None = None
    indent: Annotated[str, msgspec.Meta(pattern="^[ \t]{0,1000}$")] = ""
    places: LinePlaces = NO_PLACES
    inlines: tuple[Inline, ...] = ()


CHUNK_COLUMNS = ["id", "document_id", "path", "text", "place", "fields"]
_PLACES = msgspec.json.Decoder(_Place)


def chunk_schema(vectors: "VectorFormat | None") -> "pa.Schema":
    """Columns of the `chunks` table, the last of which hold vectors in a format; None leaves them out."""
    import pyarrow as pa

    # `words` are those of the text, and with a mark those of its path, fields and links. `place` is JSON.
    texts = ("id", "document_id", "path", "text", "words", "place", "content_hash")
    columns = [pa.field(name, pa.string(), nullable=False) for name in texts]
    labels = pa.field("fields", pa.list_(pa.string()), nullable=False)  # such as "status=open"
    return pa.schema([*columns, labels, *(vectors.fields() if vectors else [])])


def document_schema() -> "pa.Schema":
    """Columns of the `documents` table, with which an update finds out whether a file has changed."""
    import pyarrow as pa

    text, number, count = pa.string(), pa.int64(), pa.int32()
    columns = {"id": text, "path": text, "title": text, "size": number, "mtime_ns": number, "file_hash": text}
    columns |= {"n_chunks": count, "n_records": count}  # records in the document; 1 for a file
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


def chunk_to_row(chunk: Chunk, language: str = ENGLISH) -> dict[str, Any]:
    """The columns of a chunk in a language, without its vector."""
    from cdesearch.words.analyzer import chunk_words  # which `--help` and readers of chunks do not need

    named = f"{chunk.fields_text} {chunk.link_targets}"
    place = _Place(**{name: getattr(chunk, name) for name in _Place.__struct_fields__})
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "path": chunk.path,
        "text": chunk.text,
        "words": chunk_words(chunk.text, chunk.path, named, language),
        "place": msgspec.json.encode(place).decode(),
        "content_hash": chunk.content_hash,
        "fields": [f"{name}={value}" for name, value in chunk.fields],
    }


def chunk_from_row(row: Mapping[str, Any]) -> Chunk:
    """The chunk in a row that `chunk_to_row` wrote; raises ValueError for a row that it never writes."""
    try:
        place = _PLACES.decode(row["place"])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the place of a chunk is impossible ({error})") from None
    own = {name: row[name] for name in ("id", "document_id", "path", "text")}
    placed = {name: getattr(place, name) for name in _Place.__struct_fields__}
    return Chunk(**own, **placed, fields=tuple(map(field_of, row["fields"])))


def field_of(label: str) -> tuple[str, str]:
    """The name and the value in an item of the column `fields`."""
    name, _, value = label.partition("=")
    return name, value

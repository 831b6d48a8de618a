"""Read the stored texts of an index without a query: a chunk and what surrounds it, its document, a file, or a folder.

All texts come from the tables of the index. No file outside the index is read, whatever name a caller passes.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any
from unicodedata import normalize

from cdesearch.errors import IndexDamagedError, NotIndexedError, QueryError
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_remedy
from cdesearch.store.line_places import Entries
from cdesearch.store.schema import CHUNK_COLUMNS, Chunk, chunk_from_row
from cdesearch.store.storage import run_async

MOST_ROWS = 20_000  # of a file whose rows are shown around one of them


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """The description of one document of an index, without its text."""

    id: str
    path: str  # the path of its file, relative to the indexed folder
    title: str
    n_chunks: int


class DocumentReader:
    """Reads the documents and chunks of one generation. Any number of threads may use it."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def document(self, document_id: str) -> tuple[Chunk, ...]:
        """All chunks of a document, in the order of its text; raises NotIndexedError if there is none."""
        found = self._chunks(f"document_id = {quoted(document_id)}")
        if not found:
            raise NotIndexedError(f"The index has no document {document_id:.200}.", "Search for words of its text.")
        return found

    def file(self, path: str) -> tuple[Chunk, ...]:
        """All chunks of a file, or of one document in a file of records, in order; raises NotIndexedError.

        Accents in the path may be written in another form than in the name of the file.
        """
        forms = dict.fromkeys((path, normalize("NFC", path), normalize("NFD", path)))
        conditions = (f"{column} = {quoted(form)}" for column in ("path", "document_id") for form in forms)
        found = next(filter(None, map(self._chunks, conditions)), ())
        if not found:
            raise NotIndexedError(f"{path:.200} is not in the index.", "Use the path that a hit shows.")
        return found

    def rows_around(self, row: Chunk, count: int) -> tuple[tuple[Chunk, ...], int, int]:
        """A record with `count` on each side in its file, how many precede these, and how many the file has.

        A record of a file of more than MOST_ROWS is alone, because looking for the others would take seconds.
        """
        query = self._index.async_chunks.query().where(f"path = {quoted(row.path)}").limit(MOST_ROWS + 1)
        found = read_table(self._index, query.select(["document_id"]).with_row_id()).to_pylist()
        stored = sorted(found, key=itemgetter("_rowid")) if len(found) <= MOST_ROWS else ()
        names = [*dict.fromkeys(one["document_id"] for one in stored)] or [row.document_id]
        first = max(0, names.index(row.document_id) - count)
        shown = names[first : names.index(row.document_id) + count + 1]
        return self._chunks(f"document_id IN ({', '.join(map(quoted, shown))})"), first, len(names)

    def entries(self, folder: str = "") -> list[DocumentEntry]:
        """The documents of a file, or of all files below a folder, sorted by path. "" is the indexed folder."""
        columns = ["id", "path", "title", "n_chunks"]
        with self._index.checks.reading_tables():
            query = self._index.documents.search().select(columns).limit(self._index.manifest.n_documents)
            rows = query.to_arrow().to_pylist()
        below = folder.strip("/")
        return sorted(
            (DocumentEntry(**row) for row in rows if not below or f"{row['path']}/".startswith(f"{below}/")),
            key=lambda entry: (entry.path, entry.id),
        )

    def modified(self, paths: Collection[str]) -> dict[str, int]:
        """When each of these files, or its archive, was modified, in nanoseconds since 1970."""
        if not paths:
            return {}
        with self._index.checks.reading_tables():
            query = self._index.documents.search().where(f"path IN ({', '.join(map(quoted, sorted(paths)))})")
            rows = query.select(["path", "mtime_ns"]).limit(self._index.manifest.n_documents).to_arrow().to_pylist()
        return {row["path"]: row["mtime_ns"] for row in rows}

    def _chunks(self, condition: str) -> tuple[Chunk, ...]:
        query = self._index.async_chunks.query().where(condition)
        chunks = read_chunks(self._index, query)
        first: dict[tuple[str, str | None], int] = {}  # records keep the order in which they were stored
        for row, chunk in chunks.items():
            record = chunk.document_id, chunk.record
            first[record] = min(first.get(record, row), row)
        return tuple(sorted(chunks.values(), key=lambda chunk: (first[chunk.document_id, chunk.record], chunk.ordinal)))


def read_chunks(index: Index, query: Any) -> dict[int, Chunk]:
    """The chunks that a query selects with CHUNK_COLUMNS, by their row ids; raises IndexDamagedError."""
    rows = read_table(index, query.select(CHUNK_COLUMNS).with_row_id()).to_pylist()
    try:
        return {row["_rowid"]: chunk_from_row(row) for row in rows}
    except ValueError as error:
        raise IndexDamagedError(f"{index.place} cannot be read ({error}).", rebuild_remedy(index.place)) from None


def read_table(index: Index, query: Any) -> Any:
    """Run a query of LanceDB's asynchronous interface, and return its result as an Arrow table.

    Raises IndexDamagedError if files of the index are missing or broken.
    """

    async def read() -> Any:
        return await query.to_arrow()

    with index.checks.reading_tables():
        return run_async(read())


def read_candidates(index: Index, search: Any, columns: Sequence[str], limit: int, condition: str | None) -> Any:
    """`columns` and the row ids of the best `limit` chunks of a search, which an SQL condition may restrict.

    No other columns are read: all columns of a hundred candidates would take longer than the search. Raises
    IndexDamagedError.
    """
    if condition:
        search = search.where(condition)
    return read_table(index, search.limit(limit).select(list(columns)).with_row_id())


def quoted(text: str) -> str:
    """`text` as an SQL string literal; raises QueryError for text that is not valid Unicode."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text) or "\0" in text:
        raise QueryError("The name is not valid Unicode.", "Encode it in UTF-8.")
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text directly before and after a chunk, with the white space that separates them from the chunk."""

    before: str = ""
    after: str = ""
    numbers: Entries[int] = ()  # the numbers of lines in the file; lines are counted from the first one of the chunk


NOTHING = Surroundings()


def surroundings_of(chunks: Sequence[Chunk], chunk_id: str, count: int) -> Surroundings:
    """The texts of at most `count` chunks before and after the chunk, within its document or record.

    `chunks` are consecutive chunks of a document. The result is empty if the chunk is not among them.
    """
    position = next((number for number, chunk in enumerate(chunks) if chunk.id == chunk_id), None)
    if position is None:
        return NOTHING
    record = chunks[position].record
    first = last = position
    while first > max(0, position - count) and chunks[first - 1].record == record:
        first -= 1
    while last < min(len(chunks) - 1, position + count) and chunks[last + 1].record == record:
        last += 1
    before = "".join(chunks[n].body.rstrip() + gap_between(chunks[n], chunks[n + 1]) for n in range(first, position))
    after = "".join(gap_between(chunks[n], chunks[n + 1]) + chunks[n + 1].body.rstrip() for n in range(position, last))
    return Surroundings(before, after, _numbers(chunks[first : last + 1], position - first))


def _numbers(chunks: Sequence[Chunk], position: int) -> Entries[int]:
    """Where the numbers of the lines of consecutive chunks change, relative to the chunk at `position`."""
    entries: list[tuple[int, int]] = []
    starts = [0]
    for chunk, following in pairwise(chunks):
        starts.append(starts[-1] + (chunk.body.rstrip() + gap_between(chunk, following)).count("\n"))
    for chunk, start in zip(chunks, starts, strict=True):
        if chunk.line_start is not None:
            line = start - starts[position]
            entries += [(line, chunk.line_start), *chunk.places.shifted(line).numbers]
    return tuple(entries)


def gap_between(chunk: Chunk, following: Chunk) -> str:
    """The white space between two chunks, which their bodies do not contain."""
    n_lines = lines_between(chunk, following)
    return "\n" if n_lines is None else "\n" * n_lines or " "


def lines_between(chunk: Chunk, following: Chunk) -> int | None:
    """How many lines the second chunk starts below the end of the first; None for formats without lines."""
    if chunk.line_end is None or following.line_start is None:
        return None
    return following.line_start - chunk.line_end

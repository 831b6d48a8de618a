"""Read the stored texts of an index without a query: a chunk, its document, a file, or the contents of a folder.

All texts come from the tables of the index. No file outside the index is read, whatever name a caller passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdesearch.errors import IndexDamagedError, NotIndexedError, QueryError
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_remedy
from cdesearch.store.open_tables import run_async
from cdesearch.store.schema import CHUNK_COLUMNS, Chunk, chunk_from_row


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
        """Return all chunks of a document, in the order of its text; raises NotIndexedError if there is none."""
        found = self._chunks(f"document_id = {quoted(document_id)}")
        if not found:
            raise NotIndexedError(f"The index has no document {document_id:.200}.", "Search for words of its text.")
        return found

    def file(self, path: str) -> tuple[Chunk, ...]:
        """Return all chunks of a file, or of one document in a file of records, in order; raises NotIndexedError."""
        found = self._chunks(f"path = {quoted(path)}") or self._chunks(f"document_id = {quoted(path)}")
        if not found:
            raise NotIndexedError(f"{path:.200} is not in the index.", "Use the path that a hit shows.")
        return found

    def entries(self, folder: str = "") -> list[DocumentEntry]:
        """Return the documents of a file, or of all files below a folder, sorted by path. "" is the indexed folder."""
        columns = ["id", "path", "title", "n_chunks"]
        with self._index.checks.reading_tables():
            query = self._index.documents.search().select(columns).limit(self._index.manifest.n_documents)
            rows = query.to_arrow().to_pylist()
        below = folder.strip("/")
        return sorted(
            (DocumentEntry(**row) for row in rows if not below or f"{row['path']}/".startswith(f"{below}/")),
            key=lambda entry: (entry.path, entry.id),
        )

    def _chunks(self, condition: str) -> tuple[Chunk, ...]:
        query = self._index.async_chunks.query().where(condition).select(CHUNK_COLUMNS).with_row_id()
        rows: list[dict[str, Any]] = read_table(self._index, query).to_pylist()
        try:
            return _in_order([(row["_rowid"], chunk_from_row(row)) for row in rows])
        except ValueError as error:
            raise IndexDamagedError(
                f"{self._index.place} cannot be read ({error}).", rebuild_remedy(self._index.place)
            ) from None


def _in_order(rows: Sequence[tuple[int, Chunk]]) -> tuple[Chunk, ...]:
    """Sort chunks in the order of their text. Records keep the order in which they were stored."""
    first: dict[tuple[str, str | None], int] = {}
    for row, chunk in rows:
        record = chunk.document_id, chunk.record
        first[record] = min(first.get(record, row), row)
    chunks = (chunk for _, chunk in rows)
    return tuple(sorted(chunks, key=lambda chunk: (first[chunk.document_id, chunk.record], chunk.ordinal)))


def read_table(index: Index, query: Any) -> Any:
    """Run a query of LanceDB's asynchronous interface, and return its result as an Arrow table.

    Raises IndexDamagedError if files of the index are missing or broken.
    """
    return read_tables(index, [query])[0]


def read_tables(index: Index, queries: Sequence[Any]) -> list[Any]:
    """Run several queries at the same time, and return what `read_table` returns for each; raises IndexDamagedError."""
    import asyncio  # takes 20 to 40 ms, and a query that a server answers does without it

    async def read() -> list[Any]:
        return list(await asyncio.gather(*(query.to_arrow() for query in queries)))

    with index.checks.reading_tables():
        found: list[Any] = run_async(read())
    return found


def read_candidates(index: Index, search: Any, columns: Sequence[str], limit: int, condition: str | None) -> Any:
    """Return `columns` and the row ids of the best `limit` chunks of a search, which an SQL condition may restrict.

    No other columns are read: all columns of a hundred candidates would take longer than the search. Raises
    IndexDamagedError.
    """
    if condition:
        search = search.where(condition)
    return read_table(index, search.limit(limit).select(list(columns)).with_row_id())


def quoted(text: str) -> str:
    """Return `text` as an SQL string literal; raises QueryError for text that is not valid Unicode."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text) or "\0" in text:
        raise QueryError("The name is not valid Unicode.", "Encode it in UTF-8.")
    return "'" + text.replace("'", "''") + "'"

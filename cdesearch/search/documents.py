"""The stored texts of an index, read without a query: a chunk, its document, a file, the contents of a folder.

Everything comes from the tables of the index, so that no file outside it is read, whatever name a caller asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdesearch.errors import IndexDamagedError, NotIndexedError, QueryError
from cdesearch.store.folder import rebuild_remedy
from cdesearch.store.index import Index, run_async
from cdesearch.store.schema import CHUNK_COLUMNS, Chunk, chunk_from_row


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """One document of an index."""

    id: str
    path: str  # of its file, relative to the indexed folder
    title: str
    n_chunks: int


class DocumentReader:
    """Reads the documents and chunks of one generation, for any number of threads."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def chunk(self, chunk_id: str) -> Chunk:
        """The chunk with this id; raises NotIndexedError if there is none, and IndexStateError."""
        found = self._chunks(f"id = {quoted(chunk_id)}")
        if not found:
            raise NotIndexedError(
                f"The index has no chunk {chunk_id:.80}.", "Search again: an update may have replaced it."
            )
        return found[0]

    def document(self, document_id: str) -> tuple[Chunk, ...]:
        """All chunks of a document, in the order of its text; raises NotIndexedError if there is none."""
        found = self._chunks(f"document_id = {quoted(document_id)}")
        if not found:
            raise NotIndexedError(f"The index has no document {document_id:.200}.", "Search for it by its words.")
        return found

    def file(self, path: str) -> tuple[Chunk, ...]:
        """All chunks of an indexed file, in the order of its text; raises NotIndexedError if it is not indexed."""
        found = self._chunks(f"path = {quoted(path)}")
        if not found:
            raise NotIndexedError(f"{path:.200} is not in the index.", "Name a path as a hit shows it.")
        return found

    def entries(self, folder: str = "") -> list[DocumentEntry]:
        """The documents of the files below a folder, or of one file, by path; "" stands for the indexed folder."""
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
        with self._index.checks.reading_tables():
            query = self._index.async_chunks.query().where(condition).select(CHUNK_COLUMNS).with_row_id()
            rows: list[dict[str, Any]] = run_async(query.to_arrow()).to_pylist()
        try:
            return _in_order([(row["_rowid"], chunk_from_row(row)) for row in rows])
        except ValueError as error:
            raise IndexDamagedError(
                f"{self._index.folder} cannot be read ({error}).", rebuild_remedy(self._index.folder)
            ) from None


def _in_order(rows: Sequence[tuple[int, Chunk]]) -> tuple[Chunk, ...]:
    """Chunks in the order of their text: records in the order in which they were stored, then by ordinal."""
    first: dict[tuple[str, str | None], int] = {}
    for row, chunk in rows:
        record = chunk.document_id, chunk.record
        first[record] = min(first.get(record, row), row)
    chunks = (chunk for _, chunk in rows)
    return tuple(sorted(chunks, key=lambda chunk: (first[chunk.document_id, chunk.record], chunk.ordinal)))


def quoted(text: str) -> str:
    """`text` as an SQL string; raises QueryError for text that is not valid Unicode."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text) or "\0" in text:
        raise QueryError("The name is not valid Unicode.", "Name it in UTF-8.")
    return "'" + text.replace("'", "''") + "'"

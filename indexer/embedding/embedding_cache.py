"""The vectors of texts before the context of a document is added, by content hash."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cdesearch.context.document import subtract_document_context
from cdesearch.context.vectors import Floats
from cdesearch.store.filesystem import refusal_of
from cdesearch.store.index import Index
from cdesearch.store.storage import connect
from indexer.embedding.spool import document_rows
from indexer.generations.tables import sql_lists

TABLE = "own_vectors"
# Of the squared norm of a unit vector, by the kind of the stored vectors. From vectors of other kinds, the document
# offset cannot be subtracted without a loss (2.7e-3 for int8), so texts of changed documents are embedded again.
UNIT_TOLERANCE = {"float32": 1e-4, "float16": 2e-3}


def cache_schema(dimension: int) -> pa.Schema:
    """Columns of the table: the hash of a text, and its float32 vector of `dimension` numbers."""
    vector = pa.list_(pa.float32(), dimension)
    return pa.schema([pa.field("content_hash", pa.string()), pa.field("vector", vector)])


class EmbeddingCache:
    """The vectors that this build has encoded, in a table that survives a stopped run, and those of `base`."""

    def __init__(self, building: Path, dimension: int, base: Index | None, document_weight: float) -> None:
        self._database = connect(building)
        self._dimension = dimension
        self._schema = cache_schema(dimension)
        self._table: Any = self._database.create_table(TABLE, schema=self._schema, exist_ok=True)
        try:
            self._known = set(_column(self._table, "content_hash").to_pylist())
        except (OSError, RuntimeError, ValueError) as error:
            if refusal_of(error) is not None:
                raise
            self.drop()  # a run was killed while it dropped the table
            self._table, self._known = self._database.create_table(TABLE, schema=self._schema), set()
        self._base = base
        self._document_weight = document_weight
        self.embedded = 0  # texts that went through the model in this run

    def take_known(self, hashes: Iterable[str]) -> list[str]:
        """Copy the vectors that the last generation has; returns the hashes of the texts that must be embedded."""
        new = [content for content in hashes if content not in self._known]
        self._store(self._from_base(new))
        return [content for content in new if content not in self._known]

    def holds(self, content_hash: str) -> bool:
        """Whether the table has the vector of the text with this hash."""
        return content_hash in self._known

    def add(self, vectors: dict[str, Floats]) -> None:
        """Store vectors that the model has encoded, by content hash."""
        self._store(vectors)
        self.embedded += len(vectors)

    def _store(self, vectors: dict[str, Floats]) -> None:
        """Add vectors to the table in one commit."""
        if not vectors:
            return
        flat = pa.array(np.stack(list(vectors.values())).reshape(-1), pa.float32())
        column = pa.FixedSizeListArray.from_arrays(flat, self._dimension)
        self._table.add(pa.Table.from_arrays([pa.array(list(vectors), pa.string()), column], schema=self._schema))
        self._known |= vectors.keys()

    def of(self, hashes: Sequence[str]) -> Floats:
        """The vectors (n, d) of texts that all are in the table."""
        rows = rows_where(self._table, "content_hash", sorted(set(hashes)), ["content_hash", "vector"])
        found = dict(zip(rows["content_hash"].to_pylist(), rows["vector"].to_numpy(), strict=True))
        return np.stack([found[content] for content in hashes])

    def drop(self) -> None:
        """Delete the table, which a finished generation does not need."""
        self._database.drop_table(TABLE)

    def _from_base(self, hashes: Sequence[str]) -> dict[str, Floats]:
        """Vectors from the last generation; raises IndexDamagedError if its chunks cannot be read."""
        if not hashes or self._base is None or self._base.manifest.vectors not in UNIT_TOLERANCE:
            return {}
        with self._base.checks.reading_tables():
            return self._own_vectors(self._base, hashes)

    def _own_vectors(self, base: Index, hashes: Sequence[str]) -> dict[str, Floats]:
        """Vectors of texts in the last generation. Whole documents are read, to subtract the document offset."""
        texts = rows_where(base.chunks, "content_hash", hashes, ["content_hash", "document_id"])
        document_of = dict(zip(texts["content_hash"].to_pylist(), texts["document_id"].to_pylist(), strict=True))
        if not document_of:
            return {}
        columns = ["document_id", "content_hash", *base.vectors.columns]
        rows = rows_where(base.chunks, "document_id", sorted(set(document_of.values())), columns)
        rows = rows.sort_by("document_id")
        found: dict[str, Floats] = {}
        for start, stop in document_rows(rows):
            document = rows.slice(start, stop - start)
            vectors = subtract_document_context(base.vectors.decode(document), self._document_weight)
            found.update(zip(document["content_hash"].to_pylist(), vectors, strict=True))
        # Records that are far apart may share a document id, although they were not encoded as one document. The
        # results of the subtraction are then not unit vectors, and these texts are embedded again.
        wanted, tolerance = set(hashes), UNIT_TOLERANCE[base.manifest.vectors]
        return {
            content: vector
            for content, vector in found.items()
            if content in wanted and abs(vector @ vector - 1) < tolerance
        }


def _column(table: Any, name: str) -> pa.ChunkedArray:
    return table.search().select([name]).limit(table.count_rows()).to_arrow()[name]


def rows_where(table: Any, column: str, names: Sequence[str], columns: list[str]) -> pa.Table:
    """The `columns` of the rows whose `column` is one of `names`."""
    limit = table.count_rows()
    parts = [
        table.search().where(f"{column} IN ({listed})").select(columns).limit(limit).to_arrow()
        for listed in sql_lists(names)
    ]
    schema = pa.schema([table.schema.field(name) for name in columns])
    return pa.concat_tables(parts) if parts else schema.empty_table()

"""The first-stage vectors of texts, pooled, before the whitening of their corpus, and their tokens, by their keys.

A key is the content hash of a text, or names the window that a chunk was read in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cdesearch.context.vectors import Floats
from cdesearch.store.damage import damaged
from cdesearch.store.filesystem import refusal_of
from cdesearch.store.place import Place
from cdesearch.store.storage import connect
from cdesearch.store.vector_format import FIRST_STAGE, TOKENS, FirstStageFormat
from indexer.generations.tables import sql_lists

Embedded = tuple[Floats, bytes]  # a unit vector (d,), and the tokens of the text for late interaction
MOST_ROWS = 1.5  # for each chunk; with more, at least a third are of texts that are gone
MOST_FILES = 16  # of vectors, before they are joined: an update adds one, and joining writes all of them again


class EmbeddingCache:
    """The table of first-stage vectors of a generation that is being built, which survives a stopped run.

    Everything that follows is computed from the vectors as the table has them. So a build, an update and a new context
    give the same vectors.
    """

    def __init__(self, building: Path, dimension: int, place: Place) -> None:
        """`dimension` is that of the vectors, and `place` is that of the index."""
        self._database = connect(building)
        self._place = place
        self._format = FirstStageFormat(dimension)
        self._table: Any = self._database.create_table(FIRST_STAGE, schema=self._format.schema, exist_ok=True)
        try:
            self._rows, self._n_rows = self._numbered()
        except (OSError, RuntimeError, ValueError) as error:
            if refusal_of(error) is not None:
                raise
            self.drop()  # a run was killed while it dropped the table
            self._table = self._database.create_table(FIRST_STAGE, schema=self._format.schema)
            self._rows, self._n_rows = self._numbered()
        self.embedded = 0  # texts that went through the model in this run

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys whose texts must be embedded."""
        return [key for key in keys if key not in self._rows]

    def holds(self, key: str) -> bool:
        """Whether the table has the vector with this key."""
        return key in self._rows

    def add(self, made: Mapping[str, Embedded]) -> None:
        """Store what the model has made of texts, by key, in one commit."""
        if not made:
            return
        vectors, tokens = zip(*made.values(), strict=True)
        self._table.add(self._format.rows(list(made), np.stack(vectors), tokens))
        self._rows |= {key: row for row, key in enumerate(made, start=self._n_rows)}
        self._n_rows += len(made)
        self.embedded += len(made)

    def take(self, rows: pa.Table) -> None:
        """Store rows of the table of another index, none of which this one has."""
        self._table.add(rows.select(self._format.schema.names).cast(self._format.schema))
        self._rows |= {key: row for row, key in enumerate(rows["key"].to_pylist(), start=self._n_rows)}
        self._n_rows += rows.num_rows

    def clear(self) -> None:
        """Remove all vectors."""
        if self._n_rows:
            self._table.delete("true")
            self._rows, self._n_rows = self._numbered()

    def of(self, keys: Sequence[str]) -> tuple[Floats, list[bytes]]:
        """The vectors (n, d) and the tokens with these keys, which all are in the table; raises IndexDamagedError."""
        rows = sorted({self._rows[key] for key in keys})
        found = self._table.take_offsets(rows).to_arrow().combine_chunks()
        place_of = {key: place for place, key in enumerate(found["key"].to_pylist())}
        places = [place_of[key] for key in keys]
        vectors: Floats = self._format.decode(found)[places]
        if not np.isfinite(vectors).all():
            raise damaged(self._place, "it holds vectors that are not numbers")
        return vectors, found[TOKENS].take(places).to_pylist()

    def tidy(self, n_chunks: int, needed: Callable[[], Iterable[str]]) -> None:
        """Remove the rows that no chunk needs if they are many, and join the files of vectors.

        `needed` returns the keys of all `n_chunks` chunks. It is called only if rows are to be removed.
        """
        is_large = self._n_rows > MOST_ROWS * n_chunks
        if is_large:
            gone = sorted(self._rows.keys() - set(needed()))
            for listed in sql_lists(gone):
                self._table.delete(f"key IN ({listed})")
            self._rows, self._n_rows = self._numbered()
        if is_large or self._table.stats()["fragment_stats"]["num_fragments"] > MOST_FILES:
            self._table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)

    def drop(self) -> None:
        """Delete the table, which an index of small vectors does not keep."""
        self._database.drop_table(FIRST_STAGE)

    def _numbered(self) -> tuple[dict[str, int], int]:
        """The number of the row with each key, and the number of all rows."""
        n_rows = self._table.count_rows()
        keys = self._table.search().select(["key"]).limit(n_rows).to_arrow()["key"].to_pylist()
        return {key: row for row, key in enumerate(keys)}, n_rows

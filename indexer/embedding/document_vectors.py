"""Chunks into the table, every vector in the context of its document."""

from collections.abc import Callable, Container, Iterator
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from cdesearch.context.context import Context
from cdesearch.context.document import add_document
from cdesearch.context.whitening import move
from indexer.embedding.embedding_cache import OwnVectors
from indexer.embedding.spool import Spool
from indexer.generations.tables import Tables


def place_spool(
    spool: Spool,
    settled: Container[str],
    own: OwnVectors,
    tables: Tables,
    weight: float,
    head: Context | None,
    advance: Callable[[int], None],
) -> None:
    """Append the chunks of every spooled document that is not `settled`.

    Own vectors made before the statistics were known are moved by those of `head` first.
    """
    for rows in _whole_documents(spool):
        names = rows["document_id"].to_numpy()
        edges = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
        documents = [rows.slice(start, stop - start) for start, stop in pairwise(edges) if names[start] not in settled]
        advance(rows.num_rows)
        if not documents:
            continue
        placed = pa.concat_tables(documents)
        vectors = own.of(placed["content_hash"].to_pylist())
        if head is not None:
            vectors = move(vectors, head.shift, head.projection)
        for start, stop in pairwise([0, *accumulate(document.num_rows for document in documents)]):
            vectors[start:stop] = add_document(vectors[start:stop], weight)
        tables.add(placed, vectors)


def _whole_documents(spool: Spool) -> Iterator[pa.Table]:
    """The spool again, cut between documents; a document's chunks stand together in it."""
    waiting: list[pa.Table] = []
    for window in spool.windows():
        rows = pa.Table.from_batches([window])
        if not rows.num_rows:
            continue
        names = rows["document_id"].to_numpy()
        others = np.flatnonzero(names != names[-1])
        last = int(others[-1]) + 1 if len(others) else 0
        goes_on = bool(waiting) and waiting[0]["document_id"][0].as_py() == names[0]
        if last or (waiting and not goes_on):
            yield pa.concat_tables([*waiting, rows.slice(0, last)])
            waiting.clear()
        waiting.append(rows.slice(last))
    if waiting:
        yield pa.concat_tables(waiting)

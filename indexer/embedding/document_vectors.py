"""Add document context to the vectors of chunks, one document after another."""

from collections.abc import Callable, Container, Iterator
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool


def encoded_documents(
    spool: Spool,
    unchanged: Container[str],
    cache: EmbeddingCache,
    whitening: Whitening | None,
    document_weight: float,
    advance: Callable[[int], None],
) -> Iterator[tuple[pa.Table, Floats]]:
    """Rows of whole documents that are not `unchanged`, and their vectors (n, d).

    `whitening` is applied first; it is None if the cached vectors are whitened already.
    """
    for rows in whole_documents(spool):
        names = rows["document_id"].to_numpy()
        documents = [
            rows.slice(start, stop - start) for start, stop in document_rows(rows) if names[start] not in unchanged
        ]
        advance(rows.num_rows)
        if not documents:
            continue
        changed = pa.concat_tables(documents)
        vectors = cache.of(changed[KEY].to_pylist())
        if whitening is not None:
            vectors = whitening.apply(vectors)
        for start, stop in pairwise([0, *accumulate(document.num_rows for document in documents)]):
            vectors[start:stop] = add_document_context(vectors[start:stop], document_weight)
        yield changed.drop_columns([KEY]), vectors


def documents_so_far(
    spool: Spool, cache: EmbeddingCache, whitening: Whitening, document_weight: float
) -> Iterator[tuple[pa.Table, Floats]]:
    """Rows of whole documents and their vectors (n, d), which are zeros for texts that have no vector in `cache` yet.

    The document context is that of the chunks that have one.
    """
    for rows in whole_documents(spool):
        hashes = rows[KEY].to_pylist()
        known = np.array([cache.holds(content) for content in hashes])
        vectors = np.zeros((len(hashes), whitening.dimension), np.float32)
        if known.any():
            vectors[known] = whitening.apply(cache.of([hashes[row] for row in np.flatnonzero(known)]))
        for start, stop in document_rows(rows):
            present = start + np.flatnonzero(known[start:stop])
            if len(present):
                vectors[present] = add_document_context(vectors[present], document_weight)
        yield rows.drop_columns([KEY]), vectors


def document_rows(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """The first row of each document, and the row after its last one."""
    names = rows["document_id"].to_numpy()
    return pairwise([0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)])


def whole_documents(spool: Spool) -> Iterator[pa.Table]:
    """The chunks of the spool in tables of whole documents; chunks of a document are consecutive."""
    waiting: list[pa.Table] = []
    for window in spool.windows():
        rows = pa.Table.from_batches([window])
        if not rows.num_rows:
            continue
        names = rows["document_id"].to_numpy()
        others = np.flatnonzero(names != names[-1])
        last = int(others[-1]) + 1 if len(others) else 0
        continues = bool(waiting) and waiting[0]["document_id"][0].as_py() == names[0]
        if last or (waiting and not continues):
            yield pa.concat_tables([*waiting, rows.slice(0, last)])
            waiting.clear()
        waiting.append(rows.slice(last))
    if waiting:
        yield pa.concat_tables(waiting)

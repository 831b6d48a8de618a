"""The second stage: the vectors of chunks from their first-stage vectors, one document after another."""

from collections.abc import Callable, Container, Iterator
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from cdesearch.context.context import Context, FittedContext
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool, document_rows, whole_documents

BLOCK = 1_024  # vectors that are computed together


def encoded_documents(
    spool: Spool,
    unchanged: Container[str],
    cache: EmbeddingCache,
    encoder: Encoder,
    context: FittedContext | Context,
    advance: Callable[[int], None],
) -> Iterator[tuple[pa.Table, Floats]]:
    """Rows of whole documents that are not `unchanged`, and their vectors (n, d)."""
    for rows in whole_documents(spool):
        names = rows["document_id"].to_numpy()
        bounds = list(document_rows(rows))
        documents = [(start, stop) for start, stop in bounds if names[start] not in unchanged]
        advance(rows.num_rows)
        if not documents:
            continue
        all_changed = len(documents) == len(bounds)
        changed = (
            rows if all_changed else pa.concat_tables(rows.slice(start, stop - start) for start, stop in documents)
        )
        vectors = in_context(cache.of(changed[KEY].to_pylist()), encoder, context)
        for start, stop in pairwise([0, *accumulate(stop - start for start, stop in documents)]):
            vectors[start:stop] = add_document_context(vectors[start:stop], encoder.config.document_weight)
        yield changed.drop_columns([KEY]), vectors


def documents_so_far(
    spool: Spool, cache: EmbeddingCache, encoder: Encoder, context: FittedContext
) -> Iterator[tuple[pa.Table, Floats]]:
    """Rows of whole documents and their vectors (n, d), which are zeros for texts that have no vector in `cache` yet.

    The document context is that of the chunks that have one.
    """
    for rows in whole_documents(spool):
        hashes = rows[KEY].to_pylist()
        known = np.array([cache.holds(content) for content in hashes])
        vectors = np.zeros((len(hashes), context.whitening.dimension), np.float32)
        if known.any():
            vectors[known] = in_context(cache.of([hashes[row] for row in np.flatnonzero(known)]), encoder, context)
        for start, stop in document_rows(rows):
            present = start + np.flatnonzero(known[start:stop])
            if len(present):
                vectors[present] = add_document_context(vectors[present], encoder.config.document_weight)
        yield rows.drop_columns([KEY]), vectors


def in_context(pooled: Floats, encoder: Encoder, context: FittedContext | Context) -> Floats:
    """The vectors (n, m) of first-stage vectors (n, d), the same for a vector whichever the others are.

    A matrix product may round differently for another number of rows, so it always has the same.
    """
    n_blocks = -(-len(pooled) // BLOCK)
    padded = np.zeros((n_blocks * BLOCK, pooled.shape[1]), np.float32)
    padded[: len(pooled)] = pooled
    blocks = [encoder.second_stage(block, "document", context) for block in padded.reshape(n_blocks, BLOCK, -1)]
    return np.concatenate(blocks)[: len(pooled)]

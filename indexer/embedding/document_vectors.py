"""The second stage: the vectors of chunks from their first-stage vectors, one document after another."""

from collections.abc import Callable, Container, Iterator, Sequence
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
) -> Iterator[tuple[pa.Table, Floats, list[bytes]]]:
    """Rows of whole documents that are not `unchanged`, with their vectors (n, d) and their tokens.

    In a stage of a build, chunks have zeros and no tokens until `cache` has them. The document context is that of the
    others.
    """
    for rows in whole_documents(spool):
        names = rows["document_id"].to_numpy()
        documents = [bounds for bounds in document_rows(rows) if names[bounds[0]] not in unchanged]
        advance(rows.num_rows)
        if not documents:
            continue
        lengths = [stop - start for start, stop in documents]
        if sum(lengths) < rows.num_rows:
            rows = pa.concat_tables(rows.slice(start, stop - start) for start, stop in documents)  # noqa: PLW2901
        keys = rows[KEY].to_pylist()
        known = np.array([cache.holds(key) for key in keys])
        vectors, tokens = np.zeros((len(keys), context.whitening.dimension), np.float32), [b""] * len(keys)
        if known.any():
            n_known = [int(known[start:stop].sum()) for start, stop in pairwise(accumulate(lengths, initial=0))]
            pooled, found = cache.of([keys[row] for row in np.flatnonzero(known)])
            vectors[known] = in_context(pooled, n_known, encoder, context)
            for row, one in zip(np.flatnonzero(known).tolist(), found, strict=True):
                tokens[row] = one
        yield rows.drop_columns([KEY]), vectors, tokens


def in_context(pooled: Floats, lengths: Sequence[int], encoder: Encoder, context: FittedContext | Context) -> Floats:
    """The unit vectors (n, m) of the first-stage vectors (n, d) of whole documents, which have these numbers of chunks.

    Each is whitened, gets the context of its document, and attends to the sampled chunks, which have the context of
    theirs. It is the same whichever documents come with it.
    """
    placed = in_documents(pooled, lengths, encoder.config.document_weight, context)
    return _by_blocks(lambda block: encoder.attend(block, "document", context), placed)


def in_documents(pooled: Floats, lengths: Sequence[int], weight: float, context: FittedContext | Context) -> Floats:
    """The same before they attend: (n, m) whitened unit vectors in the context of their documents."""
    vectors = _by_blocks(context.whitening.apply, pooled)
    for start, stop in pairwise(accumulate(lengths, initial=0)):
        if stop - start > 1:  # of a document with one chunk, it changes nothing
            vectors[start:stop] = add_document_context(vectors[start:stop], weight)
    return vectors


def _by_blocks(function: Callable[[Floats], Floats], vectors: Floats) -> Floats:
    """What `function` returns for vectors. A matrix product may round differently for another number of rows."""
    n_blocks = -(-len(vectors) // BLOCK)
    padded = np.zeros((n_blocks * BLOCK, vectors.shape[1]), np.float32)
    padded[: len(vectors)] = vectors
    return np.concatenate([function(block) for block in padded.reshape(n_blocks, BLOCK, -1)])[: len(vectors)]

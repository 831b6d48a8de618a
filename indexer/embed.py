"""Chunks to vectors, a window at a time, each text once."""

from collections.abc import Callable, Container

import numpy as np
import pyarrow as pa

from cdesearch.context import Context
from cdesearch.encoder import Encoder
from indexer.spool import Spool
from indexer.write import Tables


def embed_spool(
    spool: Spool,
    tables: Tables,
    done: Container[str],
    known: set[str],
    encoder: Encoder,
    context: Context,
    advance: Callable[[int], None],
) -> int:
    """Embed and append every spooled chunk whose id is not in `done`; returns how many went through the model.

    `known` are content hashes that have a vector in the table already; those of this spool are added. The context's
    own chunks have theirs from its making. On Ctrl-C the finished part of the window is kept.
    """
    embedded = 0
    for window in spool.windows():
        todo = [row for row, chunk in enumerate(window["id"].to_pylist()) if chunk not in done]
        advance(window.num_rows - len(todo))
        if todo:
            embedded += _embed_window(window.take(pa.array(todo)), tables, known, encoder, context, advance)
    return embedded


def _embed_window(
    window: pa.RecordBatch,
    tables: Tables,
    known: set[str],
    encoder: Encoder,
    context: Context,
    advance: Callable[[int], None],
) -> int:
    hashes = window["content_hash"].to_pylist()
    texts = dict(zip(hashes, window["text"].to_pylist(), strict=True))
    vectors = tables.vectors_of([content for content in texts if content in known])
    unknown = texts.keys() - vectors.keys()
    sampled = zip(context.content_hashes, context.own_vectors, strict=True)
    vectors |= ((content, vector) for content, vector in sampled if content in unknown)
    advance(sum(content in vectors for content in hashes))
    fresh = [content for content in texts if content not in vectors]
    try:
        for places, encoded in encoder.stream([texts[content] for content in fresh], "document", context):
            vectors |= zip((fresh[place] for place in places), encoded, strict=True)
            advance(len(places))
    finally:
        rows = [row for row, content in enumerate(hashes) if content in vectors]
        if rows:
            tables.add(window.take(pa.array(rows)), np.stack([vectors[hashes[row]] for row in rows]))
            known.update(vectors)
    return len(unknown)

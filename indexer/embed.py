"""Chunks to vectors, a window at a time, each text once."""

from collections.abc import Callable, Container

import numpy as np
import pyarrow as pa

from cdesearch.context import Context, Floats
from cdesearch.encoder import Encoder
from indexer.spool import Spool
from indexer.write import Tables

STEP = 64  # chunks between two looks at the keyboard


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

    `known` are content hashes that have a vector in the table already; those of this spool are added. On Ctrl-C the
    finished part of the window is kept. A run that continues makes up the same batches as one that was not stopped:
    a quantised model's vectors depend a little on what else is in the batch.
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
    vectors: dict[str, Floats] = tables.vectors_of([content for content in texts if content in known])
    advance(sum(content in vectors for content in hashes))
    # Alike lengths together: little padding inside a step. Shortest first, so that the steps after a stop are the same.
    fresh = sorted(texts.keys() - vectors.keys(), key=lambda content: (len(texts[content]), content))
    try:
        for start in range(0, len(fresh), STEP):
            step = fresh[start : start + STEP]
            encoded = encoder.encode([texts[content] for content in step], "document", context)
            vectors |= zip(step, encoded, strict=True)
            advance(len(step))
    finally:
        rows = [row for row, content in enumerate(hashes) if content in vectors]
        if rows:
            tables.add(window.take(pa.array(rows)), np.stack([vectors[hashes[row]] for row in rows]))
            known.update(vectors)
    return len(fresh)

"""Chunks to vectors, a window at a time, each text once."""

from collections.abc import Callable, Container
from typing import Any

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
    known: dict[str, Any],
    encoder: Encoder,
    context: Context,
    advance: Callable[[int], None],
) -> int:
    """Embed and append every spooled chunk whose id is not in `done`; returns how many went through the model.

    `known` has vectors by content hash that need no embedding. On Ctrl-C the finished part of the window is kept.
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
    known: dict[str, Any],
    encoder: Encoder,
    context: Context,
    advance: Callable[[int], None],
) -> int:
    hashes, texts = window["content_hash"].to_pylist(), window["text"].to_pylist()
    fresh = {content: text for content, text in zip(hashes, texts, strict=True) if content not in known}
    # Alike lengths together: little padding inside a step.
    waiting = sorted(fresh, key=lambda content: len(fresh[content]))
    vectors: dict[str, Floats] = {}
    try:
        for start in range(0, len(waiting), STEP):
            step = waiting[start : start + STEP]
            encoded = encoder.encode([fresh[content] for content in step], "document", context)
            vectors.update(zip(step, encoded, strict=True))
            advance(len(step))
        advance(len(hashes) - len(fresh))
    finally:
        have = known | vectors if known else vectors
        rows = [row for row, content in enumerate(hashes) if content in have]
        if rows:
            tables.add(window.take(pa.array(rows)), np.stack([have[hashes[row]] for row in rows]).astype(np.float32))
    return len(waiting)

"""Embed the chunks of a document together, for models in which every chunk of a window reads the others."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from cdesearch.context.context import EncodingContext
from cdesearch.context.document import subtract_document_context
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.store.index import Index
from indexer.embedding.document_vectors import document_rows, whole_documents
from indexer.embedding.embedding_cache import UNIT_TOLERANCE, EmbeddingCache, rows_where
from indexer.embedding.spool import KEY, Chunks, Spool

DOCUMENTS = 1_000  # of the last generation whose chunks are in memory at the same time
_FIRST = ".0"  # the end of the key of the first chunk of a window


def keyed_by_windows(spool: Chunks, file: Path, encoder: Encoder) -> Spool:
    """The chunks of a closed spool in a new one in `file`, with keys that name all texts of their windows.

    The key of a chunk is a hash of the texts of its window and the chunk's position among them.
    """
    keyed = Spool(file)
    for rows in whole_documents(spool):
        texts, contents = rows["text"].to_pylist(), rows["content_hash"].to_pylist()
        keys: list[str] = []
        for start, stop in document_rows(rows):
            keys += _window_keys(texts[start:stop], contents[start:stop], encoder)
        added = 0
        for chunks in rows.drop_columns([KEY]).to_batches():
            keyed.add(chunks, pa.array(keys[added : added + chunks.num_rows], pa.string()))
            added += chunks.num_rows
    keyed.close()
    return keyed


def _window_keys(texts: Sequence[str], contents: Sequence[str], encoder: Encoder) -> list[str]:
    """The keys of all chunks of a document, from their texts and content hashes."""
    keys: list[str] = []
    for window in encoder.windows(texts):
        joined = " ".join(contents[position] for position in window)
        digest = blake2b(joined.encode(), digest_size=16).hexdigest()
        keys += [f"{digest}.{position - window.start}" for position in window]
    return keys


def keep_known_windows(
    cache: EmbeddingCache, base: Index, paths: Iterable[str], spool: Chunks, encoder: Encoder
) -> None:
    """Store the vectors of windows that the files `paths` of the last generation and the spool have in common.

    They need not be embedded again. Records are left out, and so is everything if the document offset cannot be
    subtracted from the stored vectors. Raises IndexDamagedError.
    """
    wanted = {key for window in spool.windows([KEY]) for key in window[KEY].to_pylist()}
    if not wanted or base.manifest.vectors not in UNIT_TOLERANCE:
        return
    names = sorted(paths)  # a document that is not a record has the path of its file as its id
    columns = ["document_id", "content_hash", "text", "place", *base.vectors.columns]
    for start in range(0, len(names), DOCUMENTS):
        with base.checks.reading_tables():
            found = rows_where(base.chunks, "document_id", names[start : start + DOCUMENTS], columns)
        rows = found.sort_by("document_id")
        known: dict[str, Floats] = {}
        for first, stop in document_rows(rows) if rows.num_rows else ():
            known |= _known_windows(rows.slice(first, stop - first), base, encoder)
        cache.keep({key: vector for key, vector in known.items() if key in wanted})


def _known_windows(document: pa.Table, base: Index, encoder: Encoder) -> dict[str, Floats]:
    """The vectors of the chunks of a document by key; none if their order or their vectors are not certain."""
    order = _order(document["place"].to_pylist())
    if order is None:
        return {}
    rows = document.take(order)
    vectors = subtract_document_context(base.vectors_in(rows), encoder.config.document_weight)
    if not (abs((vectors**2).sum(axis=1) - 1) < UNIT_TOLERANCE[base.manifest.vectors]).all():
        return {}
    keys = _window_keys(rows["text"].to_pylist(), rows["content_hash"].to_pylist(), encoder)
    return dict(zip(keys, vectors, strict=True))


def _order(places: Sequence[str]) -> list[int] | None:
    """The positions of the chunks of a document in the order of its text; None for records and impossible places."""
    try:
        read = [json.loads(place) for place in places]
        ordinals = [place["ordinal"] for place in read if place["record"] is None]
        is_whole = sorted(ordinals) == list(range(len(places)))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return np.argsort(ordinals).tolist() if is_whole else None


def embed_windows(
    spool: Chunks,
    unchanged: Container[str],
    cache: EmbeddingCache,
    encoder: Encoder,
    context: EncodingContext,
    advance: Callable[[int], None],
) -> Iterator[None]:
    """Embed every window of documents that are not `unchanged`; yields whenever the vectors of some are stored.

    It does for models that read chunks together what `embed_spool` does for others.
    """
    for rows in whole_documents(spool):
        keys, texts, names = (rows[name].to_pylist() for name in (KEY, "text", "document_id"))
        starts = [row for row, key in enumerate(keys) if key.endswith(_FIRST)]
        bounds = [*starts, len(keys)]
        wanted = [slice(*pair) for pair in pairwise(bounds) if names[pair[0]] not in unchanged]
        todo = set(cache.missing({key for window in wanted for key in keys[window]}))
        missing = []
        for window in wanted:
            if todo.issuperset(keys[window]):  # otherwise it is known: the vectors of a window are stored together
                missing.append(window)
                todo.difference_update(keys[window])
        made: dict[str, Floats] = {}
        try:
            found = encoder.encode_windows([texts[window] for window in missing], context)
            for window, vectors in zip(missing, found, strict=True):
                made |= zip(keys[window], vectors, strict=True)
                advance(len(vectors))
        finally:
            cache.add(made)
        yield

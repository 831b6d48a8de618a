"""Embed the chunks of a document together, for models in which every chunk of a window reads the others."""

from collections.abc import Callable, Container, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from indexer.embedding.document_vectors import document_rows, whole_documents
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool

_FIRST = ".0"  # the end of the key of the first chunk of a window


def keyed_by_windows(spool: Spool, file: Path, encoder: Encoder) -> Spool:
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


def embed_windows(
    spool: Spool,
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

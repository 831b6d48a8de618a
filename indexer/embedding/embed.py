"""Embed each text once, one window at a time."""

from collections.abc import Callable, Container, Iterator

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import Spool


def embed_spool(
    spool: Spool,
    unchanged: Container[str],
    cache: EmbeddingCache,
    encoder: Encoder,
    context: EncodingContext,
    advance: Callable[[int], None],
) -> Iterator[None]:
    """Embed every text of documents that are not `unchanged`; yields whenever the vectors of a window are stored.

    On Ctrl-C the finished part of a window is kept.
    """
    for window in spool.windows(["document_id", "content_hash", "text"]):
        rows = zip(*(window[name].to_pylist() for name in window.schema.names), strict=True)
        texts = {content: text for document, content, text in rows if document not in unchanged}
        todo = cache.missing(texts)
        advance(window.num_rows - len(todo))
        made: dict[str, Floats] = {}
        try:
            for indices, vectors in encoder.stream([texts[content] for content in todo], "document", context):
                made |= zip((todo[index] for index in indices), vectors, strict=True)
                advance(len(indices))
        finally:
            cache.add(made)
        yield

"""Embed each text once, one window at a time."""

from collections.abc import Callable, Container, Iterator

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import ModelServerError, TextRefusedError
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool

# Embeds the texts of documents that are not in the set, like `embed_spool`.
Embed = Callable[
    [Spool, Container[str], EmbeddingCache, Encoder, EncodingContext, Callable[[int], None]], Iterator[None]
]
CONTINUES = "The same command continues, and reuses every finished embedding."


def embed_spool(
    spool: Spool,
    unchanged: Container[str],
    cache: EmbeddingCache,
    encoder: Encoder,
    context: EncodingContext,
    advance: Callable[[int], None],
) -> Iterator[None]:
    """Embed every text of documents that are not `unchanged`; yields whenever the vectors of a window are stored.

    `advance` is called with the number of texts that the model has encoded. On Ctrl-C and on an error the finished part
    of a window is kept.
    """
    for window in spool.windows(["document_id", KEY, "text", "path"]):
        rows = list(zip(*(window[name].to_pylist() for name in window.schema.names), strict=True))
        texts = {content: text for document, content, text, _ in rows if document not in unchanged}
        todo = cache.missing(texts)
        made: dict[str, Floats] = {}
        try:
            for indices, vectors in encoder.stream([texts[content] for content in todo], "document", context):
                made |= zip((todo[index] for index in indices), vectors, strict=True)
                advance(len(indices))
        except TextRefusedError as error:
            path = next(path for _, content, _, path in rows if content == todo[error.position])
            raise ModelServerError(f"{path} cannot be embedded. {error.cause}", error.remedy) from None
        except ModelServerError as error:
            raise ModelServerError(error.cause, f"{error.remedy} {CONTINUES}") from None
        finally:
            cache.add(made)
        yield


def count_missing(spool: Spool, unchanged: Container[str], cache: EmbeddingCache) -> int:
    """How many texts `embed_spool` would embed."""
    missing: set[int] = set()  # hashes of the keys, because a large corpus has too many texts for strings
    for window in spool.windows(["document_id", KEY]):
        rows = zip(window["document_id"].to_pylist(), window[KEY].to_pylist(), strict=True)
        missing.update(map(hash, cache.missing(content for document, content in rows if document not in unchanged)))
    return len(missing)

"""Embed each text once, one window at a time; or the chunks of a document together, if each reads the others."""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from cdesearch.context.context import EncodingContext
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import ModelServerError, TextRefusedError
from indexer.embedding.embedding_cache import Embedded, EmbeddingCache
from indexer.embedding.spool import KEY, Spool, document_rows, whole_documents

CONTINUES = "The same command continues, and reuses every finished embedding."
_FIRST = ".0"  # the end of the key of the first chunk of a window


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a spool that need vectors: those of documents that are not `unchanged`."""

    spool: Spool
    unchanged: Container[str]
    cache: EmbeddingCache
    encoder: Encoder
    context: EncodingContext
    advance: Callable[[int], None]  # is called with the number of texts that the model has encoded


Embed = Callable[[Texts], Iterator[None]]  # such as `embed_spool`


def embed_spool(given: Texts) -> Iterator[None]:
    """Embed every text; yields whenever the vectors of a window are stored.

    On Ctrl-C and on an error the finished part of a window is kept.
    """
    for window in given.spool.windows(["document_id", KEY, "text", "path"]):
        rows = list(zip(*(window[name].to_pylist() for name in window.schema.names), strict=True))
        texts = {content: text for document, content, text, _ in rows if document not in given.unchanged}
        todo = given.cache.missing(texts)
        made: dict[str, Embedded] = {}
        try:
            asked = [texts[content] for content in todo]
            for indices, *found in given.encoder.stream(asked, "document", given.context):
                made |= zip((todo[index] for index in indices), zip(*found, strict=True), strict=True)
                given.advance(len(indices))
        except TextRefusedError as error:
            path = next(path for _, content, _, path in rows if content == todo[error.position])
            raise ModelServerError(f"{path} cannot be embedded. {error.cause}", error.remedy) from None
        except ModelServerError as error:
            raise ModelServerError(error.cause, f"{error.remedy} {CONTINUES}") from None
        finally:
            given.cache.add(made)
        yield


def keyed_by_windows(spool: Spool, file: Path, encoder: Encoder) -> Spool:
    """The chunks of a closed spool in a new one in `file`, with keys that name all texts of their windows.

    The key of a chunk is a hash of the texts of its window and the chunk's position among them.
    """
    keyed = Spool(file)
    for rows in whole_documents(spool):
        texts, contents = rows["text"].to_pylist(), rows["content_hash"].to_pylist()
        keys: list[str] = []
        for start, stop in document_rows(rows):
            for window in encoder.windows(texts[start:stop]):
                joined = " ".join(contents[start + position] for position in window)
                digest = blake2b(joined.encode(), digest_size=16).hexdigest()
                keys += [f"{digest}.{position - window.start}" for position in window]
        added = 0
        for chunks in rows.drop_columns([KEY]).to_batches():
            keyed.add(chunks, pa.array(keys[added : added + chunks.num_rows], pa.string()))
            added += chunks.num_rows
    keyed.close()
    return keyed


def embed_windows(given: Texts) -> Iterator[None]:
    """Embed every window for a model that reads chunks together; yields whenever the vectors of some are stored."""
    for rows in whole_documents(given.spool):
        keys, texts, names = (rows[name].to_pylist() for name in (KEY, "text", "document_id"))
        starts = [row for row, key in enumerate(keys) if key.endswith(_FIRST)]
        bounds = [*starts, len(keys)]
        wanted = [slice(*pair) for pair in pairwise(bounds) if names[pair[0]] not in given.unchanged]
        todo = set(given.cache.missing({key for window in wanted for key in keys[window]}))
        missing = []
        for window in wanted:
            if todo.issuperset(keys[window]):  # otherwise it is known: the vectors of a window are stored together
                missing.append(window)
                todo.difference_update(keys[window])
        made: dict[str, Embedded] = {}
        try:
            found = given.encoder.encode_windows([texts[window] for window in missing], given.context)
            for window, vectors in zip(missing, found, strict=True):
                made |= {key: (vector, b"") for key, vector in zip(keys[window], vectors, strict=True)}
                given.advance(len(vectors))
        finally:
            given.cache.add(made)
        yield

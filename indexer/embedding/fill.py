"""Make a generation's table hold its chunks, whatever the last generation or a stopped run left in it."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import chain
from typing import Any

from cdesearch.context.context import Context
from cdesearch.encode.encoder import Encoder
from cdesearch.store.index import Index
from indexer.embedding.document_vectors import place_spool
from indexer.embedding.embed import embed_spool
from indexer.embedding.embedding_cache import OwnVectors
from indexer.embedding.spool import Spool
from indexer.generations.tables import Tables, identities
from indexer.progress import Progress

Row = tuple[str, str]  # chunk id, document id


def fill(
    tables: Tables,
    spool: Spool,
    own: OwnVectors,
    kept_paths: Container[str],
    base: Index | None,
    encoder: Encoder,
    context: Context,
    measured: Callable[[], Context] | None,
    progress: Progress,
) -> None:
    """The chunks of `base` under `kept_paths`, and the spool's; only what has no vector yet goes through the model.

    Documents are the unit: the vectors of their chunks hang together. Where `context` has no statistics yet, `measured`
    gives it with those of the own vectors, once all are made; these move the vectors as they are written.
    """
    there = list(_rows(tables.chunks))
    kept = list(_rows(base.chunks, kept_paths)) if base else []
    settled = unchanged_documents(there, chain(kept, _spooled(spool))) if there else set()
    embed_spool(spool, settled, own, encoder, context, progress.stage("Embedding", spool.count()))
    tables.delete(chunk for chunk, document in there if document not in settled)
    if base is not None:
        tables.copy(base.chunks, (chunk for chunk, document in kept if document not in settled))
    head = measured() if measured else None
    advance = progress.stage("Writing", spool.count())
    place_spool(spool, settled, own, tables, encoder.config.document_weight, head, advance)
    own.drop()


def unchanged_documents(there: Iterable[Row], wanted: Iterable[Row]) -> set[str]:
    """Documents whose chunks, all of them and no others, are there."""
    digests: tuple[dict[str, int], dict[str, int]] = (defaultdict(int), defaultdict(int))
    for rows, digest in zip((there, wanted), digests, strict=True):
        for chunk, document in rows:
            digest[document] += hash(chunk)  # the order says nothing
    return {document for document, found in digests[0].items() if digests[1].get(document) == found}


def _rows(table: Any, kept_paths: Container[str] | None = None) -> Iterator[Row]:
    """Of a chunk table: all, or those under some paths."""
    for batch in identities(table).to_batches():
        for chunk, document, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if kept_paths is None or path in kept_paths:
                yield chunk, document


def _spooled(spool: Spool) -> Iterator[Row]:
    for window in spool.windows(["id", "document_id"]):
        yield from zip(window["id"].to_pylist(), window["document_id"].to_pylist(), strict=True)

"""Fill the table of a generation, which may already contain chunks of the last generation or of a stopped run.

The vectors of chunks are computed from their first-stage vectors, one document after another.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cdesearch.context.context import Context, ContextSample, EncodingContext, FittedContext
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.progress import Progress
from cdesearch.store.index import Index
from indexer.embedding.embed import Embed, Texts
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool, document_rows, whole_documents
from indexer.generations.tables import Tables, identities

Row = tuple[str, str]  # chunk id, document id


@dataclass(frozen=True, slots=True)
class Filling:
    """Writes the spooled chunks into the table. Only texts that have no vector yet go through the model.

    The unit is a document, because the vectors of its chunks depend on each other.
    """

    tables: Tables
    spool: Spool
    cache: EmbeddingCache
    encoder: Encoder
    embed: Embed
    progress: Progress

    def in_context_of(self, base: Index, kept_paths: pa.ChunkedArray, gone_paths: Collection[str]) -> None:
        """Fill in an update: copy the chunks of `base` under `kept_paths`, and encode the others in its context.

        `gone_paths` are the other paths of its chunks.
        """
        with base.checks.reading_tables():
            if self.tables.chunks.version == base.chunks.version:  # it is a copy, in which only these paths can differ
                present, kept = self.tables.under(gone_paths), []
            else:  # a stopped update has begun to change it
                present, chunks = _rows(identities(self.tables.chunks)), identities(base.chunks)
                kept = _rows(chunks.filter(pc.is_in(chunks["path"], kept_paths.combine_chunks())))
        unchanged = self._unchanged(present, kept)
        context = base.context_for(self.encoder)
        self._embed(unchanged, context.sample, lambda: None)
        with base.checks.reading_tables():  # the new table begins as a copy of the base's files
            self._delete_changed(present, unchanged)
            self.tables.copy(base.chunks, (chunk for chunk, document in kept if document not in unchanged))
        self._write(unchanged, context)

    def in_new_context(
        self, sample: ContextSample, fit: Callable[[], tuple[FittedContext, bool]], publish: Callable[[], None]
    ) -> FittedContext:
        """Fill in a new context: encode all chunks with `sample`, and write their vectors in the context.

        `publish` is called after each window of chunks. `fit` is called once all texts are encoded; it returns the
        context, and whether the vectors in the table are of this context, from a stopped build.
        """
        present = _rows(identities(self.tables.chunks))
        unchanged = self._unchanged(present, [])
        self._embed(unchanged, sample, publish)
        fitted, is_kept = fit()
        unchanged = unchanged if is_kept else set()
        self._delete_changed(present, unchanged)
        self._write(unchanged, fitted)
        return fitted

    def _unchanged(self, present: list[Row], kept: list[Row]) -> set[str]:
        """The ids of documents of which exactly the wanted chunks are present: the kept ones and those to write."""
        digests: tuple[dict[str, int], dict[str, int]] = (defaultdict(int), defaultdict(int))
        wanted = chain(kept, self.spool.rows("id", "document_id")) if present else ()
        for rows, digest in zip((present, wanted), digests, strict=True):
            for chunk, document in rows:
                digest[document] += hash(chunk)  # a sum, which does not depend on the order
        return {document for document, found in digests[0].items() if digests[1].get(document) == found}

    def _embed(self, unchanged: set[str], context: EncodingContext, publish: Callable[[], None]) -> None:
        keys = {key for document, key in self.spool.rows("document_id", KEY) if document not in unchanged}
        advance = self.progress.stage("Embedding", len(self.cache.missing(keys)))
        for _ in self.embed(Texts(self.spool, unchanged, self.cache, self.encoder, context, advance)):
            publish()

    def _delete_changed(self, present: list[Row], unchanged: set[str]) -> None:
        self.tables.delete(chunk for chunk, document in present if document not in unchanged)

    def _write(self, unchanged: set[str], context: FittedContext | Context) -> None:
        advance = self.progress.stage("Writing", self.spool.count())
        for added in encoded_documents(self.spool, unchanged, self.cache, self.encoder, context, advance):
            self.tables.add(*added)


def _rows(chunks: pa.Table) -> list[Row]:
    return list(zip(chunks["id"].to_pylist(), chunks["document_id"].to_pylist(), strict=True))


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

"""Publish stages of a new build: generations that answer queries until every chunk has its vector.

The first stage has only the full-text index. Later stages also have the vectors that are finished, whitened by the
statistics of these vectors. Each stage is a separate generation, so it cannot change the final one.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from cdesearch.context.context import Context, ContextSample
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, FileRecord, write_files
from cdesearch.store.folder import write_new
from cdesearch.store.index import CONTEXT
from cdesearch.store.layout import PLAN
from cdesearch.store.manifest import Manifest
from cdesearch.store.vector_format import VectorFormat
from indexer.embedding.context import fit_whitening, sample_vectors
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.fill import encoded_documents
from indexer.embedding.spool import KEY, Spool
from indexer.generations.generation import new_generation, swap_in
from indexer.generations.tables import Tables

STAGED_FROM = 300  # chunks; two cores embed fewer in about five seconds, so a stage would be useless
SECONDS = 15.0  # from one stage to the next, at least: embedding one window takes about as long
COST_SHARE = 0.04  # the largest share of the time until the next stage that writing a stage may take


@dataclass(slots=True)
class Stages:
    """The stages of one build, which has read all files into the spool."""

    folder: Path  # of the index
    building: Path  # the unfinished generation
    spool: Spool
    encoder: Encoder
    vectors: VectorFormat
    records: pa.Table  # all rows of the documents table
    files: list[FileRecord]
    describe: Callable[[Context | None, int], Manifest]  # from the context and the number of chunks with a vector
    tell: Callable[[str], None]  # prints a line for the user
    _due: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    def publish_words(self) -> None:
        """Publish all chunks without vectors, unless the build will be complete soon."""
        if self.spool.count() < STAGED_FROM:
            return
        started = time.monotonic()
        windows = (pa.Table.from_batches([window]).drop_columns([KEY]) for window in self.spool.windows())
        dimension = self.encoder.dimension
        empty = ((rows, np.zeros((len(rows), dimension), np.float32), [b""] * len(rows)) for rows in windows)
        self._publish(empty, None, 0)
        self._schedule(started)

    def publish_vectors(self, sample: ContextSample, cache: EmbeddingCache) -> None:
        """Publish the finished vectors if the last stage is old enough, unless there are none, or all are finished."""
        started = time.monotonic()
        if started < self._due:
            return
        known = [cache.holds(key) for (key,) in self.spool.rows(KEY)]
        if all(known) or not any(known):
            return
        fitted = fit_whitening(sample, self.spool, cache, self.encoder)
        documents = encoded_documents(self.spool, (), cache, self.encoder, fitted, lambda _: None)
        self._publish(documents, lambda tables: Context.of(fitted, sample_vectors(tables, sample)), sum(known))
        self._schedule(started)

    def _schedule(self, started: float) -> None:
        """Set the time of the next stage, which depends on how long the one that began at `started` took."""
        ended = time.monotonic()
        self._due = ended + max(SECONDS, (ended - started) / COST_SHARE)

    def _publish(
        self,
        documents: Iterable[tuple[pa.Table, Floats, list[bytes]]],
        context_of: Callable[[Tables], Context] | None,
        n_vectors: int,
    ) -> None:
        """Write a generation of chunks with their vectors (n, d) and tokens, and make it the live one."""
        generation = new_generation(self.folder)
        write_new(generation / PLAN, "{}")  # until it is live, it is unfinished, and no build may continue it
        tables = Tables(generation, self.vectors)
        for rows, vectors, tokens in documents:
            tables.add(rows, vectors, tokens)
        context = context_of(tables) if context_of else None
        if context is not None:
            context.save(generation / CONTEXT)
        tables.write_documents(self.records)
        tables.finish(has_all_vectors=False)
        write_files(self.files, generation / FILES)
        manifest = self.describe(context, n_vectors)
        manifest.save(generation / MANIFEST)
        write_checksums(generation, None)
        swap_in(self.folder, generation, self.building)
        self.tell(f"Searchable now: {manifest.stage}.")

"""The corpus of one build on a cluster, from its files to the fragments of its table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.context.context import ContextSample, FittedContext
from cdesearch.context.sample import COUNTED_TEXTS, FITTED_TEXTS, Ranks, join_ranks
from cdesearch.encode.encoder import Encoder
from cdesearch.progress import Progress
from cdesearch.store.file_account import FileRecord
from cdesearch.store.schema import document_schema
from indexer.cluster.dispatch import completed, run_on_worker, task
from indexer.cluster.embedding import ModelToLoad, embed_windows
from indexer.cluster.parts import Part, Parts
from indexer.cluster.places import Whereabouts, locate, vectors_at
from indexer.cluster.reading import Ranking, ReadPart, groups_of, read_group
from indexer.cluster.scanning import WINDOWS_PER_TASK, Scan, Wanted, joined, scan
from indexer.cluster.session import Session
from indexer.cluster.writing import Target, commit, fragments_of, write_fragment
from indexer.embedding.languages import sampling_step
from indexer.embedding.spool import WINDOW
from indexer.files.outcome import Source
from indexer.workers.pool import Reading


@dataclass
class ClusterCorpus:
    """The steps of a build that run on a cluster, in the order of the methods. `windows` and `count` read chunks."""

    folder: Path  # of the cluster's files, in the unfinished generation
    session: Session
    encoder: Encoder
    progress: Progress
    sample_size: int
    seed: int
    window: int = WINDOW  # chunks that are embedded together
    documents: pa.Table = field(default_factory=document_schema().empty_table)
    files: list[FileRecord] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)
    _parts: list[Part] = field(default_factory=list)
    _ranks: Ranks = field(default_factory=dict)

    def read(self, sources: Sequence[Source], reading: Reading) -> None:
        """Pass 1: read and chunk files, which keep their order."""
        import ray

        self.folder.mkdir(exist_ok=True)
        advance = self.progress.stage("Reading", len(sources))
        read, settings = task(read_group), ray.put(reading)
        found: dict[int, ReadPart] = {}
        groups = groups_of(sources)
        for group, part in completed(
            lambda group: read.remote(self.folder, group, settings, self._ranking), groups, 2 * self.session.n_workers
        ):
            self._ranks = join_ranks(self._ranks, part.ranks, self._n_ranks)
            part.ranks.clear()
            found[group.number] = part
            advance(len(group.sources))
        ordered = [found[number] for number in sorted(found)]
        self._parts = [one.part for one in ordered]
        self.documents = pa.concat_tables([self.documents, *(one.documents for one in ordered)])
        self.files = [file for one in ordered for file in one.files]
        self.columns = set().union(*(one.columns for one in ordered))

    def windows(self, columns: list[str] | None = None) -> Any:
        """Record batches of at most `window` chunks, without vectors."""
        return self._chunks.windows(columns)

    def count(self) -> int:
        """The number of chunks."""
        return self._chunks.count()

    @cached_property
    def found(self) -> Scan:
        """The sampled texts, token counts and texts for the languages."""
        chunks, n_chunks = self._chunks, self.count()
        advance = self.progress.stage("Counting words", n_chunks)
        wanted = Wanted(
            frozenset(chunk for _, chunk in self._lowest(self.sample_size).values()),
            -(-n_chunks // COUNTED_TEXTS),
            sampling_step(n_chunks),
            self.encoder.tokenizer.to_str(),
            self.encoder.config,
        )
        scanned = task(scan)
        found: dict[int, Scan] = {}
        starts = range(0, chunks.n_windows, WINDOWS_PER_TASK)
        ranges = {start: chunks.in_windows(start, start + WINDOWS_PER_TASK) for start in starts}
        for start, one in completed(
            lambda start: scanned.remote(ranges[start], wanted), starts, 2 * self.session.n_workers
        ):
            found[start] = one
            advance(ranges[start].count())
        return joined([found[start] for start in starts])

    def embed(self, sample: ContextSample, model: ModelToLoad) -> int:
        """Pass 2: embed every text that has no vector yet; returns how many went through the model."""
        import ray

        todo = self._whereabouts.todo
        advance = self.progress.stage("Embedding", sum(one.n_texts for one in todo))
        embedded = 0
        if todo:
            files, broadcast = self._whereabouts.files, ray.put(sample)
            for count in embed_windows(self._chunks, todo, files, self.session, model, broadcast):
                embedded += count
                advance(count)
        return embedded

    def fit(self, sample: ContextSample, dimension: int) -> FittedContext:
        """Fit the whitening to the same vectors as a build on one machine."""
        vectors = vectors_at(self.folder, self._whereabouts.files, self._whereabouts.fitted)
        return self.encoder.fit(sample, self._fitted_keys, vectors, dimension)

    def write(self, table: Path, fitted: FittedContext, target: Target) -> None:
        """Write all chunks to the Lance table in the folder `table`, which is empty, in one commit."""
        import ray

        advance = self.progress.stage("Writing", self.count())
        written, fragments = task(write_fragment), list(fragments_of(self._parts, fitted.fingerprint))
        parts, shared = ray.put(self._chunks), ray.put(target)
        made: dict[int, list[str]] = {}
        for fragment, described in completed(
            lambda one: written.remote(parts, one, shared), fragments, 2 * self.session.n_workers
        ):
            made[fragment.start] = described
            advance(fragment.stop - fragment.start)
        commit(table, [one for start in sorted(made) for one in made[start]])

    @property
    def vector_files(self) -> list[str]:
        """The names of the files of vectors."""
        return self._whereabouts.files

    @property
    def _chunks(self) -> Parts:
        return Parts(self.folder, self._parts, self.window)

    @property
    def _n_ranks(self) -> int:
        return max(self.sample_size, FITTED_TEXTS)

    @property
    def _ranking(self) -> Ranking:
        """What the next task looks for: the more is known, the fewer chunks can still be drawn."""
        bound = max(self._ranks.values()) if len(self._ranks) == self._n_ranks else None
        return Ranking(self._n_ranks, self.seed, bound)

    def _lowest(self, size: int) -> Ranks:
        return join_ranks(self._ranks, {}, size)

    @property
    def _fitted_keys(self) -> list[str]:
        """The keys of the texts to which the whitening is fitted, in the order of their chunks' ids."""
        return sorted(ranks := self._lowest(FITTED_TEXTS), key=lambda content: ranks[content][1])

    @cached_property
    def _whereabouts(self) -> Whereabouts:
        found: Whereabouts = run_on_worker(locate, self._chunks, self._fitted_keys)
        return found

"""Run one build on a Ray cluster: the steps of BuildJob that read, embed and write chunks."""

import shutil
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.context.context import Context, ContextSample, FittedContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.load import Device
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.index import CONTEXT
from cdesearch.store.lance_manifest import TABLES
from cdesearch.store.open_tables import connect
from indexer.cluster.corpus import ClusterCorpus
from indexer.cluster.embedding import ModelToLoad
from indexer.cluster.indexing import (
    drift_on_worker,
    finish_on_worker,
    sample_vectors_on_worker,
    write_documents_on_worker,
)
from indexer.cluster.parts import FRAGMENTS
from indexer.cluster.session import Session, connected
from indexer.cluster.writing import Target, storage_version
from indexer.embedding.context import load_or_make, sample_of, save_part
from indexer.embedding.languages import CorpusLanguages
from indexer.embedding.spool import Chunks
from indexer.generations.generation import CLUSTER, FITTED, SAMPLE
from indexer.generations.tables import Tables
from indexer.job import BuildJob
from indexer.read_files import newest_first
from indexer.workers.pool import Pool


@dataclass(frozen=True, slots=True)
class ClusterJob(BuildJob):
    """A build with a new context on a cluster. It has the hits of a build on one machine."""

    session: Session
    device: Device  # of the model, as the user has chosen it

    def _key(self) -> dict[str, Any]:
        # The unfinished builds of the two engines have different files.
        return BuildJob._key(self) | {"engine": "ray"}

    def _read(self, building: Path, pool: Pool) -> tuple[Chunks, pa.Table, set[str]]:
        pool.close()
        corpus = ClusterCorpus(
            building / CLUSTER,
            self.session,
            self.encoder,
            self.progress,
            self._description.context_limit,
            self.settings.seed,
        )
        corpus.read(newest_first(self.plan.to_read), self._reading)
        self.plan.files.update((file.path, file) for file in corpus.files)
        return corpus, corpus.documents, corpus.columns

    def _languages(self, chunks: Chunks) -> CorpusLanguages:
        corpus = _as_corpus(chunks)
        return CorpusLanguages.of_texts(corpus.found.language_texts, corpus.count(), None, 0)

    def _open_tables(self, languages: CorpusLanguages, building: Path) -> Tables:
        """The tables, of which that of the chunks is empty: an interrupted run may have written it."""
        tables = self._tables(languages, building)
        if not tables.chunks.count_rows():
            return tables
        connect(building).drop_table("chunks")
        shutil.rmtree(building / CLUSTER / FRAGMENTS, ignore_errors=True)  # they describe files of the table
        return self._tables(languages, building)

    def _fill(self, building: Path, tables: Tables, spool: Chunks, *_: Any) -> int:
        corpus, encoder = _as_corpus(spool), self.encoder
        known = self.base.context if self.base else None
        sample = load_or_make(
            building / SAMPLE,
            ContextSample,
            lambda: sample_of(
                corpus.found.sampled, corpus.found.frequencies, encoder, self.settings.seed, known, self.progress
            ),
        )
        embedded = corpus.embed(sample, self._model)
        fitted = load_or_make(building / FITTED, FittedContext, lambda: corpus.fit(sample, self._vectors.dimension))
        table = building / TABLES / "chunks.lance"
        weight = encoder.config.document_weight
        version = storage_version(table)
        target = Target(str(table), version, self._vectors, corpus.vector_files, fitted.whitening, weight)
        corpus.write(table, fitted, target)
        tables.chunks.checkout_latest()
        sampled = sample_vectors_on_worker(tables, self._vectors, sample)
        save_part(Context.of(fitted, sampled), building / CONTEXT)
        return embedded

    def _drift(self, tables: Tables, sample: Floats, *_: Any) -> float | None:
        return drift_on_worker(tables, self._vectors, sample, self.folder)

    def _write_documents(self, tables: Tables, documents: pa.Table) -> None:
        write_documents_on_worker(tables, self._vectors, documents)

    def _finish_tables(self, tables: Tables) -> None:
        finish_on_worker(tables, self._vectors, self.session.n_workers)

    @property
    def _model(self) -> ModelToLoad:
        assert not isinstance(self.settings.model, EndpointModel)
        device: Device = "cuda" if self.session.n_gpus and self.device == "auto" else self.device
        encoder = self.encoder
        return ModelToLoad(self.settings.model, device, self.settings.plain, encoder.fingerprint, encoder.precision)


def _as_corpus(chunks: Chunks) -> ClusterCorpus:
    assert isinstance(chunks, ClusterCorpus)
    return chunks


def run_on_cluster(job: BuildJob, pool: Pool, device: Device, address: str | None, n_workers: int | None) -> int | None:
    """What `job.run` does, on a cluster; raises InputError for a model with which a cluster cannot build."""
    if isinstance(job.settings.model, EndpointModel):
        raise InputError("A model on a server cannot be used with --engine ray.", "Leave --engine out.")
    if job.encoder.joins_chunks:
        raise InputError(
            "A model that reads the chunks of a document together cannot be used with --engine ray.",
            "Leave --engine out, or choose another model.",
        )
    job.progress.stage("Connecting to the cluster", None)
    with connected(address, n_workers) as session:
        if device == "cuda" and not session.n_gpus:
            raise InputError("The cluster has no GPU.", "Leave --device out.")
        inputs = {field.name: getattr(job, field.name) for field in fields(job)}
        return ClusterJob(**inputs, session=session, device=device).run(pool)

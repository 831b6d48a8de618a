"""Run one build: from a plan to the next generation of an index."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdesearch import __version__
from cdesearch.context.context import Context, ContextSample, FittedContext
from cdesearch.encode.exports import CHECKED_TEXTS, export
from cdesearch.encode.remote import is_same_model
from cdesearch.errors import IndexDamagedError, IndexStateError, InputError, SourceError
from cdesearch.progress import Display
from cdesearch.search.drift import drift_of
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, write_files
from cdesearch.store.folder import write_new
from cdesearch.store.index import CONTEXT, Index
from cdesearch.store.layout import CURRENT, FORMAT, rebuild_remedy
from cdesearch.store.manifest import Manifest, ServedModel
from cdesearch.store.schema import chunk_schema
from cdesearch.store.vector_format import FIRST_STAGE, FirstStageFormat
from cdesearch.store.vocabulary import VOCABULARY, read_vocabulary, write_vocabulary
from cdesearch.words.compounds import JOINING
from cdesearch.words.detection import Shares, main_language
from indexer.description import BuildInputs
from indexer.embedding.borrowed import LEAST_CHUNKS, borrow
from indexer.embedding.context import (
    draw_sample,
    fit_whitening,
    keep_part,
    sample_vectors,
    save_part,
)
from indexer.embedding.embed import keyed_by_windows
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.fill import Filling
from indexer.embedding.languages import corpus_languages, vocabulary_of
from indexer.embedding.spool import KEY, Spool
from indexer.embedding.stages import Stages
from indexer.generations.generation import (
    FITTED,
    ONLY_FIRST_STAGE,
    PROBES,
    SAMPLE,
    SPOOL,
    TEMPORARY,
    WHOLE,
    WINDOWS,
    holds_embeddings,
    open_building,
    remove,
    swap_in,
)
from indexer.generations.tables import Tables
from indexer.read_files import Engine, check_columns, why_nothing_was_read
from indexer.settings import record_confirmation
from indexer.workers.messages import Limits, Reading

LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class BuildJob(BuildInputs):
    """One build, with a method for each step; `run` calls them in order."""

    engine: Engine
    progress: Display

    def run(self) -> int | None:
        """Make the next generation and swap it in; returns how many texts went through the model.

        Returns None if no document has changed, although other files may have.
        """
        building = self._open_building()
        spool, fresh, columns = self._read(building)
        try:
            check_columns(columns, self.settings, self.plan, self.base)
        except InputError:
            if not holds_embeddings(building):
                remove([building])
            raise
        self._export_model(spool)
        if self.kept_base is not None and not fresh.num_rows and not self.plan.gone:
            self._finish_unchanged(building, self.kept_base)
            return None
        documents = pa.concat_tables([self.plan.kept, fresh])
        n_chunks = pc.sum(documents["n_chunks"]).as_py() or 0
        if not n_chunks and self.kept_base is None:
            remove([building])
            sources = ", ".join(map(str, self.settings.sources))
            raise SourceError(f"There is nothing readable in {sources}.", why_nothing_was_read(self.plan))
        kept = self.kept_base.manifest if self.kept_base else None
        languages = corpus_languages(spool, kept, pc.sum(self.plan.kept["n_chunks"]).as_py() or 0)
        tables = Tables(building, self.vectors)
        with self.base.checks.reading_tables() if self.base else nullcontext():
            cache = EmbeddingCache(building, self.encoder.dimension, self.folder)
        if self._may_borrow(building, n_chunks) and (lent := borrow(spool, cache, self.encoder, self.folder)):
            place, context, count = lent
            self.progress.note(f"{count:,} texts have vectors in {place}, which are used here as well.")
            drawn = (self.encoder, self.context_limit, self.settings.seed, context, self.progress)
            keep_part(building / SAMPLE, draw_sample(spool, *drawn))
        self._fill(building, tables, spool, cache, documents, languages)
        if tables.chunks.count_rows() != n_chunks:
            remove([building])
            raise IndexDamagedError(
                f"The documents of {self.folder} are not those of its chunks.", rebuild_remedy(self.folder)
            )
        self.progress.stage("Indexing words", None)
        self._count_words(spool, languages, building)
        tables.write_documents(documents)
        context = Context.load(building / CONTEXT)
        manifest = self.manifest(documents, languages, context)
        with self.kept_base.checks.reading_tables() if self.kept_base else nullcontext():
            sample = context.sample_vectors
            drift = drift_of(sample, tables.chunks, documents, self.vectors, self.folder)
            del documents, fresh  # of a million records; the indexes need the memory now
            tables.finish()
        if self.vectors.keeps_first_stage:
            cache.tidy(n_chunks, lambda: self._keys(building, tables))
        self._finish(building, replace(manifest, drift=drift), None if self.vectors.keeps_first_stage else cache)
        return cache.embedded

    def _may_borrow(self, building: Path, n_chunks: int) -> bool:
        """Whether a new index may use vectors of another one, which depend on the texts and the weights of tokens."""
        encoder, is_new = self.encoder, self.base is None and not (self.folder / CURRENT).is_file()
        is_alone = not (encoder.reads_context or encoder.joins_chunks or encoder.probes is not None)
        is_large = n_chunks >= LEAST_CHUNKS and self.vectors.keeps_first_stage
        return is_new and is_alone and is_large and not (building / SAMPLE).is_file()

    def _open_building(self) -> Path:
        """The generation's folder: an unfinished one of the same key is continued."""
        first_stage = FirstStageFormat(self.encoder.dimension).schema
        columns = {"chunks": chunk_schema(self.vectors), FIRST_STAGE: first_stage}
        base, parts = (self.kept_base, WHOLE) if self.kept_base else (self.refreshed_base, ONLY_FIRST_STAGE)
        building = open_building(self.folder, base.generation if base else None, self._key(), columns, parts)
        served = self.served
        if served is not None and not self._continues(building, served):
            remove([building])
            self.progress.note(
                "The model on the server has changed since this build began. All texts are embedded again."
            )
            return self._open_building()
        return building

    def _continues(self, building: Path, served: ServedModel) -> bool:
        """Whether the model that began the build in `building` is `served`; a build without probes begins with it."""
        file = building / PROBES
        if not file.is_file():
            write_new(file, served.probes)
            return True
        begun, dimension = replace(served, probes=file.read_text(encoding="ascii")), self.encoder.dimension
        return is_same_model(begun.vectors(dimension), served.vectors(dimension))

    def _key(self) -> dict[str, Any]:
        """What an unfinished generation must have in common with this build to be continued."""
        key: dict[str, Any] = {
            "format": FORMAT,
            "model": self.encoder.fingerprint,
            "base": self.base.generation.name if self.base else None,
        }
        if self.kept_base is None:  # everything that determines the context
            key |= {
                "seed": self.settings.seed,
                "context_size": self.context_limit,
                "sources": sorted(map(str, self.settings.sources)),
            }
        return key

    def _export_model(self, spool: Spool) -> None:
        """In the first build with a published model, export it, so that it runs without torch from now on.

        An update has too few texts to compare the export with torch.
        """
        model = self.encoder.unexported
        if model is None or self.kept_base is not None:
            return
        texts = list(dict.fromkeys(text for (text,) in islice(spool.rows("text"), CHECKED_TEXTS)))
        if not texts:
            return
        self.progress.stage("Exporting the model", None)
        if line := export(self.encoder, model, texts):
            self.progress.note(line)

    def _read(self, building: Path) -> tuple[Spool, pa.Table, set[str]]:
        """Read and chunk the files of the plan, the newest first, which get their vectors first.

        For a new context, the chunks of files that have not changed are those of the last generation. Returns the
        chunks, the rows of their documents, and the columns named by options that at least one file has. The outcome of
        each file is entered in the plan.
        """
        spool = self._spool(building)
        if self.refreshed_base is not None and self.plan.kept.num_rows:
            with self.refreshed_base.checks.reading_tables():
                spool.add_stored(self.refreshed_base.chunks, self.plan.kept["path"].combine_chunks())
        advance = self.progress.stage("Reading", len(self.plan.to_read))
        settings, encoder = self.settings, self.encoder
        selected = settings.columns, settings.max_file_bytes, LIMITS, settings.has_ocr
        reading = Reading(encoder.tokenizer.to_str(), encoder.max_chunk_tokens, *selected)
        newest_first = sorted(self.plan.to_read, key=lambda source: -source.mtime_ns)
        read = self.engine.read(newest_first, reading, spool, advance)
        self.plan.files.update((file.path, file) for file in read.files)
        return self._keyed(spool, building), read.documents, read.columns

    def _spool(self, building: Path) -> Spool:
        for name in (SPOOL, WINDOWS):
            (building / name).unlink(missing_ok=True)  # not overwritten, because it may be a hard link to another file
        return Spool(building / SPOOL)

    def _keyed(self, spool: Spool, building: Path) -> Spool:
        """The chunks of a closed spool with the keys of their vectors."""
        return keyed_by_windows(spool, building / WINDOWS, self.encoder) if self.encoder.joins_chunks else spool

    def _keys(self, building: Path, tables: Tables) -> Iterable[str]:
        spool = self._spool(building)
        spool.add_stored(tables.chunks, None)
        spool.close()
        return (key for (key,) in self._keyed(spool, building).rows(KEY))

    def _count_words(self, chunks: Spool, languages: Shares, building: Path) -> None:
        """Write the vocabulary, if the language joins words. An update adds words to that of the base."""
        if main_language(languages) not in JOINING:
            return
        base = read_vocabulary(self.kept_base.generation, self.kept_base.place) if self.kept_base else None
        if base is not None or self.kept_base is None:
            write_vocabulary(vocabulary_of(chunks, base), building / VOCABULARY)

    def _fill(
        self,
        building: Path,
        tables: Tables,
        spool: Spool,
        cache: EmbeddingCache,
        documents: pa.Table,
        languages: Shares,
    ) -> None:
        encoder, base = self.encoder, self.kept_base
        filling = Filling(tables, spool, cache, encoder, self.engine.embed, self.progress)
        if base is not None:
            filling.in_context_of(base, self.plan.kept["path"], self.plan.gone)
            return
        stages = self._stages(building, spool, documents, languages)
        if stages and not (self.folder / CURRENT).is_file():
            stages.publish_words()
        if not (building / FITTED).is_file() and tables.chunks.count_rows():
            tables.chunks.delete("true")  # a run was killed after it had removed the context of these chunks
        sample = self._sample(building / SAMPLE, spool)

        def fit() -> tuple[FittedContext, bool]:
            fitted = fit_whitening(sample, spool, cache, encoder)
            return fitted, keep_part(building / FITTED, fitted)

        def publish() -> None:
            if stages:
                stages.publish_vectors(sample, cache)

        fitted = filling.in_new_context(sample, fit, publish)
        save_part(Context.of(fitted, sample_vectors(tables, sample)), building / CONTEXT)

    def _sample(self, file: Path, spool: Spool) -> ContextSample:
        """The sample of the chunks as they are now.

        That of a stopped build is kept if the networks read it, because its vectors depend on it. Otherwise only its
        token weights are kept, since files may have come and gone.
        """
        encoder, stored = self.encoder, ContextSample.load(file) if file.is_file() else None
        if stored is not None and encoder.reads_context:
            return stored
        before = self.base if encoder.reads_context else self.refreshed_base
        old = stored or (before.context_for(encoder) if before else None)
        drawn = draw_sample(spool, encoder, self.context_limit, self.settings.seed, old, self.progress)
        keep_part(file, drawn)
        return drawn

    def _stages(self, building: Path, spool: Spool, documents: pa.Table, languages: Shares) -> Stages | None:
        # A complete generation answers queries during the build. A bucket gets a new one only at the end.
        if self.target.place != self.folder or _is_complete(self.folder):
            return None
        return Stages(
            folder=self.folder,
            building=building,
            spool=spool,
            encoder=self.encoder,
            vectors=self.vectors,
            records=documents,
            files=list(self.plan.files.values()),
            describe=partial(self.manifest, documents, languages),
            tell=self._tell,
        )

    def _tell(self, line: str) -> None:
        """Tell the user that a stage is live.

        The model and folders that the user has named are recorded as confirmed now, so that queries may load the model.
        """
        for text in filter(None, (record_confirmation(self.target.place, self.settings.trust_request), line)):
            self.progress.note(text)

    def _finish_unchanged(self, building: Path, base: Index) -> None:
        """End a build with the same documents as `base`.

        A new generation is needed only for other files, settings or versions, or for a model that is at another place.
        """
        remove([building])  # a stopped update may have changed its tables
        is_current = base.manifest.cdesearch == __version__  # else the files that could not be read were tried again
        if is_current and not self.plan.has_news and self.settings.are_those_of(base.manifest):
            return
        building = self._open_building()
        if self.plan.kept.num_rows and self.plan.has_new_times:
            Tables(building, self.vectors).write_documents(self.plan.kept)
        files = self.file_fields()
        self._finish(building, replace(base.manifest, model=self.settings.model_name, cdesearch=__version__, **files))

    def _finish(self, building: Path, manifest: Manifest, dropped: EmbeddingCache | None = None) -> None:
        """Write the manifest and the other descriptions of the generation, and make it the live one.

        First-stage vectors that the index does not keep are `dropped` last: a stopped run needs them to go on.
        """
        (building / FILES).unlink(missing_ok=True)  # not overwritten: a hard link to the file of the last generation
        write_files(list(self.plan.files.values()), building / FILES)
        manifest.save(building / MANIFEST)
        for name in TEMPORARY:
            (building / name).unlink(missing_ok=True)
        if dropped is not None:
            dropped.drop()
        write_checksums(building, self.kept_base.generation if self.kept_base else None)
        swap_in(self.folder, building)


def _is_complete(folder: Path) -> bool:
    """Whether the live generation has all vectors; false also if there is none that can be opened."""
    try:
        return Index(folder).manifest.is_complete
    except IndexStateError:
        return False

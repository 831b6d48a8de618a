"""What a build begins with, and what its manifest says about its settings, its model and its documents."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdesearch import __version__
from cdesearch.context.context import Context
from cdesearch.encode.encoder import Encoder
from cdesearch.models.catalog import languages_of
from cdesearch.models.config import has_added_context
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.index import Index
from cdesearch.store.manifest import Manifest, ServedModel
from cdesearch.store.vector_format import VectorFormat
from cdesearch.words.detection import Shares
from indexer.generations.lock import Target
from indexer.plan import Plan
from indexer.settings import Settings


@dataclass(frozen=True, slots=True)
class BuildInputs:
    """The inputs of one build."""

    target: Target
    base: Index | None  # the live generation; None if there is none, it is a stage, or the index is rebuilt
    new_context: bool  # otherwise the context of `base` is kept, with its vectors of unchanged documents
    settings: Settings
    plan: Plan
    encoder: Encoder
    started: float  # seconds since the epoch

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self.target.folder

    @property
    def kept_base(self) -> Index | None:
        """The generation whose vectors are valid in the next one as well."""
        return None if self.new_context else self.base

    @property
    def refreshed_base(self) -> Index | None:
        """The generation whose first-stage vectors are valid in a new context as well."""
        base = self.base if self.new_context else None
        return None if base is None or base.manifest.embeds_on_refresh else base

    @property
    def vectors(self) -> VectorFormat:
        """How vectors are stored."""
        return VectorFormat(self.settings.vectors, self.encoder.dimension)

    @property
    def context_limit(self) -> int:
        """The most chunks that the context samples."""
        return self.settings.context_size or self.encoder.context_size

    @property
    def served(self) -> ServedModel | None:
        """The model on a server; None if the model runs here. An update keeps the probes of the build."""
        model, probes, base = self.settings.model, self.encoder.probes, self.kept_base or self.refreshed_base
        if not isinstance(model, EndpointModel) or probes is None:
            return None
        return ServedModel.of(model, probes) if base is None else base.manifest.served

    def manifest(
        self, documents: pa.Table, languages: Shares, context: Context | None, n_vectors: int | None = None
    ) -> Manifest:
        """The manifest of the generation, or of a stage with `n_vectors`, the first of which has no context."""
        settings, encoder = self.settings, self.encoder
        n_chunks = pc.sum(documents["n_chunks"]).as_py() or 0
        return Manifest(
            cdesearch=__version__,
            model=settings.model_name,
            served=self.served,
            model_fingerprint=encoder.fingerprint,
            context_fingerprint=context.fingerprint if context else "",
            context_size=len(context.sampled.chunk_ids) if context else 0,
            context_limit=self.context_limit,
            seed=context.sampled.seed if context else settings.seed,
            dimension=encoder.dimension,
            reads_context=encoder.reads_context,
            max_tokens=encoder.max_tokens,
            added_context=has_added_context(encoder.config),
            n_documents=documents.num_rows,
            n_chunks=n_chunks,
            has_parts=(pc.max(documents["n_records"]).as_py() or 0) > 1,
            created=self.base.manifest.created if self.base else self.started,
            vectors=settings.vectors,
            n_vectors=n_vectors,
            languages=dict(languages),
            model_languages=languages_of(settings.model),
            context_chunks=self.kept_base.manifest.context_chunks if self.kept_base else n_chunks,
            **self.file_fields(),
        )

    def file_fields(self) -> dict[str, Any]:
        """The fields of a manifest that describe the files of this run and how they were selected."""
        settings, beside = self.settings, self.folder.parent
        is_beside = settings.root.is_relative_to(beside)  # then the root and the index can be moved together
        root = Path("..", settings.root.relative_to(beside)).as_posix() if is_beside else str(settings.root)
        return {
            "root": root,
            "sources": settings.relative(settings.sources),
            "mounts": settings.relative(settings.mounts),
            "columns": asdict(settings.columns),
            "max_file_bytes": settings.max_file_bytes,
            "include": settings.globs.include,
            "exclude": settings.globs.exclude,
            "source_globs": settings.stored_source_globs,
            "has_ocr": settings.has_ocr,
            "updated": self.started,
            "files": self.plan.counts,
        }

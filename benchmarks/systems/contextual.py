"""Our model's vectors alone, in the context of this corpus, of another one, or in none."""

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.measures import Run
from benchmarks.systems.vectors import kept, nearest
from cdesearch.context import Context, Floats
from cdesearch.document_context import add_document, to_unit
from cdesearch.encoder import Encoder, Role


class Contextual:
    """Every text whole, one vector each, all compared: no chunks, no index."""

    def __init__(
        self, encoder: Encoder, work: Path, context: str, strange: Dataset | None = None, seed: int = 0
    ) -> None:
        """`context` is true, random (that of `strange`), null, or document (true, and each chunk's document)."""
        self.name = f"cdesearch dense, {context} context" + (f", seed {seed}" if seed else "")
        self._encoder = encoder
        self._work = work
        self._kind = context
        self._strange = strange
        self._seed = seed

    def retrieve(self, dataset: Dataset) -> Run:
        """The nearest documents by cosine."""
        context = self._context(dataset)
        queries = self._embed(list(dataset.queries.values()), "query", context)
        documents = self._embed(list(dataset.texts), "document", context)
        if self._kind == "document":
            for places in dataset.documents:
                documents[places] = add_document(documents[places], self._encoder.config.document_weight)
        return nearest(dataset, queries, to_unit(documents))

    def _context(self, dataset: Dataset) -> Context | None:
        if self._kind == "null":
            return None
        source = self._strange if self._kind == "random" and self._strange else dataset
        size = min(self._encoder.context_size, len(source.texts))
        rows = sorted(np.random.default_rng(self._seed).choice(len(source.texts), size, replace=False).tolist())
        names, texts = [source.ids[row] for row in rows], [source.texts[row] for row in rows]
        vectors = np.zeros((size, self._encoder.dimension), np.float32)
        if self._encoder.reads_context:
            vectors = self._encoder.first_stage(texts)
        frequencies = self._encoder.count_tokens(source.texts)
        return self._encoder.make_context(names, names, texts, vectors, frequencies, self._seed)

    def _embed(self, texts: list[str], role: Role, context: Context | None) -> Floats:
        """Vectors before the statistics head are kept: samples of one corpus share them where every gate is closed."""
        encode = self._encoder.encode
        if context is None:
            return kept(self._work, f"{self._encoder.fingerprint} {role}", texts, lambda new: encode(new, role, None))
        d = self._encoder.dimension
        bare = replace(context, shift=np.zeros(d, np.float32), projection=np.eye(d, dtype=np.float32))
        seen = blake2b(context.token_weights.tobytes(), digest_size=12)
        if context.keys is not None and context.values is not None:
            seen.update(context.keys.tobytes() + context.values.tobytes())
        model = f"{self._encoder.fingerprint} {role} {seen.hexdigest()}"
        pooled = kept(self._work, model, texts, lambda new: encode(new, role, bare))
        moved: Floats = ((pooled - context.shift) @ context.projection).astype(np.float32)
        return to_unit(moved)

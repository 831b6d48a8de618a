"""The vectors of cdesearch alone, in the context of this corpus, of another one, or without context."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.system import Run, kept, nearest
from cdesearch.context.context import Context, EncodingContext, FittedContext, NullContext
from cdesearch.context.document import add_document_context
from cdesearch.context.head import Role
from cdesearch.context.sample import FITTED_TEXTS
from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from cdesearch.encode.encoder import Encoder


class Contextual:
    """One vector for each whole text, without chunks and index."""

    def __init__(self, encoder: Encoder, work: Path, kind: str, other: Dataset | None = None, seed: int = 0) -> None:
        """The `kind` of context: true, random (that of `other`), null, or document (true, with document context)."""
        self.name = f"cdesearch dense, {kind} context" + (f", seed {seed}" if seed else "")
        self._encoder = encoder
        self._work = work
        self._kind = kind
        self._other = other
        self._seed = seed

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the documents by cosine."""
        return nearest(dataset, *self.vectors(dataset))

    def vectors(self, dataset: Dataset) -> tuple[Floats, Floats]:
        """Unit vectors of queries and documents."""
        source = self._other if self._kind == "random" and self._other else dataset
        context = None if self._kind == "null" else corpus_context(self._encoder, source, self._seed, self._work)
        weight = self._encoder.config.document_weight if self._kind == "document" else 0.0
        return vectors_in(context, dataset, self._encoder, self._work, weight)


def vectors_in(
    context: EncodingContext | None,
    dataset: Dataset,
    encoder: Encoder,
    work: Path,
    document_weight: float = 0.0,
) -> tuple[Floats, Floats]:
    """Unit vectors of queries and documents, all embedded in `context`."""
    queries = embed_in(context, list(dataset.queries.values()), "query", encoder, work)
    if context is None or not document_weight:
        return queries, embed_documents(context, dataset, encoder, work)
    documents = context.whitening.apply(_embed_bare_documents(context, dataset, encoder, work))
    for rows in dataset.documents:
        documents[rows] = add_document_context(documents[rows], document_weight)
    return queries, encoder.attend(documents, "document", context)


def corpus_context(encoder: Encoder, source: Dataset, seed: int, work: Path) -> FittedContext:
    """A context with the whitening fitted to at most FITTED_TEXTS texts. Unlike in an index, sampling is uniform."""
    names, texts = _sample(source, encoder.context_size, seed)
    frequencies = encoder.count_tokens(source.texts)
    sample = encoder.make_sample(names, names, encoder.context_vectors(texts), frequencies, seed)
    measured = np.sort(np.random.default_rng(seed).permutation(len(source.texts))[:FITTED_TEXTS])
    vectors = _embed_bare_documents(sample, source, encoder, work)[measured]
    return encoder.fit(sample, [source.ids[row] for row in measured], vectors)


def uniform_context(
    encoder: Encoder, source: Dataset, seed: int, size: int | None = None, characters: int | None = None
) -> Context:
    """A context of at most `size` texts of a corpus, each cut to `characters`; the whitening is fitted only to them."""
    names, texts = _sample(source, size or encoder.context_size, seed)
    texts = [text[:characters] for text in texts]
    return encoder.make_context(names, names, texts, encoder.count_tokens(source.texts), seed)


def _sample(source: Dataset, size: int, seed: int) -> tuple[list[str], list[str]]:
    """Ids and texts of a uniform sample of the corpus."""
    n = len(source.texts)
    rows = sorted(np.random.default_rng(seed).choice(n, min(size, n), replace=False).tolist())
    return [source.ids[row] for row in rows], [source.texts[row] for row in rows]


def embed_in(context: EncodingContext | None, texts: Sequence[str], role: Role, encoder: Encoder, work: Path) -> Floats:
    """(n, d) unit vectors of texts in one role."""
    if context is None:
        return kept(work, _model_key(encoder, role), texts, lambda new: encoder.encode(new, role, None))
    return encoder.second_stage(_embed_bare(context, texts, role, encoder, work), role, context)


def embed_documents(context: EncodingContext | None, dataset: Dataset, encoder: Encoder, work: Path) -> Floats:
    """(n, d) unit vectors of all texts of a data set; None is the null context.

    With late chunking, the chunks of a window read one another in every context.
    """
    if context is None and encoder.joins_chunks:
        return encoder.encode_chunks(dataset.texts, dataset.documents, None)
    if context is None:
        return embed_in(None, dataset.texts, "document", encoder, work)
    return encoder.second_stage(_embed_bare_documents(context, dataset, encoder, work), "document", context)


def _embed_bare_documents(context: EncodingContext, dataset: Dataset, encoder: Encoder, work: Path) -> Floats:
    """(n, d) vectors before whitening; with late chunking, the chunks of a document read one another."""
    if not encoder.joins_chunks:
        return _embed_bare(context, dataset.texts, "document", encoder, work)
    # A vector depends on the other chunks of its document, so vectors are not stored text by text.
    bare = NullContext(context.inputs, Whitening.identity(encoder.dimension))
    return encoder.encode_chunks(dataset.texts, dataset.documents, bare)


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

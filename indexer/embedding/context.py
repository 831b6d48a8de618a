"""The context of a corpus: a sample of its chunks, its token counts, and its whitening."""

from collections.abc import Callable
from heapq import nsmallest
from pathlib import Path
from typing import Protocol, Self, TypeVar

import numpy as np

from cdesearch.context.context import Context, ContextSample, FittedContext
from cdesearch.context.sample import COUNTED_TEXTS, FITTED_TEXTS, choose_chunks
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.context.whitening import Whitening
from cdesearch.encode.encoder import Encoder
from cdesearch.progress import Progress
from cdesearch.store.filesystem import put_in_place
from cdesearch.store.index import CONTEXT
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool
from indexer.generations.generation import FITTED, SAMPLE
from indexer.generations.tables import Tables


def draw_sample(
    spool: Spool, encoder: Encoder, size: int, seed: int, old: Context | None, progress: Progress
) -> ContextSample:
    """Sample the spooled corpus, count its tokens, and run the sampled texts through the first stage.

    First-stage vectors of texts that `old` contains as well are reused.
    """
    chosen = set(choose_chunks(list(spool.rows("id", "document_id", "content_hash")), size, seed))
    sampled: dict[str, tuple[str, str]] = {}
    frequencies = TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, np.int64), 0)
    n_chunks = spool.count()
    one_in = -(-n_chunks // COUNTED_TEXTS)
    advance = progress.stage("Counting words", n_chunks)
    for window in spool.windows(["id", "content_hash", "text"]):
        rows = list(zip(*(window[name].to_pylist() for name in window.schema.names), strict=True))
        sampled |= {chunk: (content, text) for chunk, content, text in rows if chunk in chosen}
        counted = [text for _, content, text in rows if int(content[:8], 16) % one_in == 0]
        frequencies += encoder.count_tokens(counted)
        advance(len(rows))
    ids = sorted(sampled)
    hashes, texts = [sampled[chunk][0] for chunk in ids], [sampled[chunk][1] for chunk in ids]
    vectors = np.zeros((len(ids), encoder.dimension), np.float32)
    if encoder.reads_context:
        known = dict(zip(old.sampled.content_hashes, old.inputs.vectors, strict=True)) if old else {}
        fresh = [row for row, content in enumerate(hashes) if content not in known]
        advance = progress.stage("Embedding the context", len(fresh))
        vectors[fresh] = encoder.first_stage([texts[row] for row in fresh], advance)
        for row, content in enumerate(hashes):
            if content in known:
                vectors[row] = known[content]
    return encoder.make_sample(ids, hashes, vectors, frequencies, seed)


def fit_whitening(
    sample: ContextSample, spool: Spool, cache: EmbeddingCache, encoder: Encoder, dimension: int
) -> FittedContext:
    """Fit the whitening to the vectors in `cache`, encoded with `sample`, of all chunks or of a large part of them.

    Texts that have no vector yet are left out. Whitened vectors have `dimension` dimensions.
    """
    triples = [row for row in spool.rows("id", "document_id", KEY) if cache.holds(row[2])]
    contents = {chunk: content for chunk, _, content in triples}
    hashes = [contents[chunk] for chunk in choose_chunks(triples, FITTED_TEXTS, sample.sampled.seed)]
    return encoder.fit(sample, hashes, cache.of(hashes), dimension)


def sample_vectors(tables: Tables, sample: ContextSample) -> Floats:
    """The unit vectors (n, d) of the sampled chunks as the table stores them, with which queries are compared.

    Chunks without a vector are left out. So are chunks that a stopped build has sampled and that no longer exist.
    """
    found = tables.vectors_of(sample.sampled.chunk_ids)
    vectors = [found[chunk] for chunk in sample.sampled.chunk_ids if chunk in found and found[chunk].any()]
    return to_unit(np.stack(vectors) if vectors else np.empty((0, tables.vectors.dimension), np.float32))


def some_texts(spool: Spool, count: int) -> list[str]:
    """The `count` texts of the spooled chunks with the lowest hashes, or all if there are fewer; no text twice."""
    chosen: dict[str, str] = {}
    for row in spool.rows("content_hash", "text"):
        chosen[row[0]] = row[1]
        if len(chosen) > 2 * count:
            chosen = dict(nsmallest(count, chosen.items()))
    return [text for _, text in nsmallest(count, chosen.items())]


class _Storable(Protocol):
    def save(self, path: Path) -> None: ...
    @classmethod
    def load(cls, path: Path) -> Self: ...


Part = TypeVar("Part", bound=_Storable)


def load_or_make(file: Path, part: type[Part], make: Callable[[], Part]) -> Part:
    """A part of the context. That of a stopped build is reused, because its vectors depend on it."""
    if not file.is_file():
        save_part(make(), file)
    return part.load(file)


def restore_parts(building: Path) -> None:
    """Take the parts of the context from the whole one, if a run has removed them and was killed before its end.

    By then the vectors are in the table, and no longer where another whitening could be fitted to them.
    """
    if not (building / CONTEXT).is_file():
        return
    whole = Context.load(building / CONTEXT)
    parts = whole.sampled, whole.fingerprint, whole.inputs
    unwhitened = Whitening.identity(len(whole.whitening.shift))
    load_or_make(building / SAMPLE, ContextSample, lambda: ContextSample(*parts, unwhitened))
    load_or_make(building / FITTED, FittedContext, lambda: FittedContext(*parts, whole.whitening))


def save_part(part: _Storable, file: Path) -> None:
    """Write a part of the context atomically."""
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    part.save(fresh)
    put_in_place(fresh, file)

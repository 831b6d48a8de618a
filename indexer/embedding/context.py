"""The context of a corpus: a sample of its chunks, its token counts, and its whitening."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from cdesearch.context.context import Context, ContextSample, FittedContext
from cdesearch.context.sample import COUNTED_TEXTS, FITTED_TEXTS, choose_chunks
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.progress import Progress
from cdesearch.store.filesystem import put_in_place
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.fill import BLOCK, in_documents
from indexer.embedding.spool import KEY, Spool
from indexer.generations.tables import Tables


def draw_sample(
    spool: Spool, encoder: Encoder, size: int, seed: int, old: Context | ContextSample | None, progress: Progress
) -> ContextSample:
    """Sample the spooled corpus, count its tokens, and run the sampled texts through the network that reads them.

    Of the context `old`, vectors of texts that the sample contains as well are reused. A model that does not read the
    context keeps the token weights of `old`, on which stored first-stage vectors depend.
    """
    rows = list(spool.rows("id", "document_id", "content_hash"))
    ids = choose_chunks(rows, size, seed)
    chosen = set(ids)
    content_of = {chunk: content for chunk, _, content in rows if chunk in chosen}
    hashes = [content_of[chunk] for chunk in ids]
    vectors = np.zeros((len(ids), encoder.dimension), np.float32)
    if old is not None and not encoder.reads_context:
        return encoder.weighted_sample(ids, hashes, vectors, old.inputs.token_weights, seed)
    frequencies = _token_frequencies(spool, encoder, progress)
    if encoder.reads_context:
        known = dict(zip(old.sampled.content_hashes, old.inputs.vectors, strict=True)) if old else {}
        fresh = [content for content in hashes if content not in known]
        wanted = set(fresh)
        texts = {content: text for content, text in spool.rows("content_hash", "text") if content in wanted}
        advance = progress.stage("Embedding the context", len(fresh))
        made = encoder.first_stage([texts[content] for content in fresh], advance)
        known |= zip(fresh, made, strict=True)
        vectors = np.stack([known[content] for content in hashes])
    return encoder.make_sample(ids, hashes, vectors, frequencies, seed)


def _token_frequencies(spool: Spool, encoder: Encoder, progress: Progress) -> TokenFrequencies:
    """Count tokens in all texts, or in a random part of those of a large corpus."""
    frequencies = TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, np.int64), 0)
    n_chunks = spool.count()
    one_in = -(-n_chunks // COUNTED_TEXTS)
    advance = progress.stage("Counting words", n_chunks)
    for window in spool.windows(["content_hash", "text"]):
        rows = list(zip(window["content_hash"].to_pylist(), window["text"].to_pylist(), strict=True))
        frequencies += encoder.count_tokens([text for content, text in rows if int(content[:8], 16) % one_in == 0])
        advance(len(rows))
    return frequencies


def fit_whitening(sample: ContextSample, spool: Spool, cache: EmbeddingCache, encoder: Encoder) -> FittedContext:
    """Fit the whitening to the vectors in `cache`, encoded with `sample`, of all chunks or of a large part of them.

    Texts that have no vector yet are left out. The context head attends to the sampled chunks in the context of their
    documents.
    """
    triples = [row for row in spool.rows("id", "document_id", KEY) if cache.holds(row[2])]
    contents = {chunk: content for chunk, _, content in triples}
    hashes = [contents[chunk] for chunk in choose_chunks(triples, FITTED_TEXTS, sample.sampled.seed)]
    fitted = encoder.fit(sample, hashes, cache.of(hashes)[0])
    if encoder.head is None:
        return fitted
    return replace(fitted, attended=_in_documents(fitted, triples, cache, encoder.config.document_weight))


def _in_documents(
    fitted: FittedContext, triples: Sequence[tuple[str, str, str]], cache: EmbeddingCache, weight: float
) -> Floats:
    """The vectors (m, n) of the sampled chunks in their documents; `triples` are ids, documents and keys of chunks."""
    wanted = set(fitted.attended_chunks)
    documents = {document for chunk, document, _ in triples if chunk in wanted}
    found: dict[str, Floats] = {}
    rows = (row for row in triples if row[1] in documents)
    for group in _whole_documents(rows, BLOCK):
        lengths = [len(list(chunks)) for _, chunks in groupby(group, itemgetter(1))]
        vectors = in_documents(cache.of([key for _, _, key in group])[0], lengths, weight, fitted)
        found |= {chunk: vector for (chunk, _, _), vector in zip(group, vectors, strict=True) if chunk in wanted}
    return np.stack([found[chunk] for chunk in fitted.attended_chunks]) if found else fitted.attended


def _whole_documents(rows: Iterable[tuple[str, str, str]], most: int) -> Iterator[list[tuple[str, str, str]]]:
    """Lists of rows of whole documents, which are longer than `most` by less than a document."""
    waiting: list[tuple[str, str, str]] = []
    for _, document in groupby(rows, itemgetter(1)):
        waiting += document
        if len(waiting) >= most:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def sample_vectors(tables: Tables, sample: ContextSample) -> Floats:
    """The unit vectors (n, d) of the sampled chunks as the table stores them, with which queries are compared.

    Chunks without a vector are left out. So are chunks that a stopped build has sampled and that no longer exist.
    """
    found = tables.vectors_of(sample.sampled.chunk_ids)
    vectors = [found[chunk] for chunk in sample.sampled.chunk_ids if chunk in found and found[chunk].any()]
    return to_unit(np.stack(vectors) if vectors else np.empty((0, tables.vectors.dimension), np.float32))


def keep_part(file: Path, part: FittedContext | ContextSample) -> bool:
    """Write a part of the context, unless the file has it; returns whether it has it, from a stopped build."""
    if file.is_file() and type(part).load(file).fingerprint == part.fingerprint:
        return True
    save_part(part, file)
    return False


def save_part(part: Context | FittedContext | ContextSample, file: Path) -> None:
    """Write a part of the context atomically."""
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    part.save(fresh)
    put_in_place(fresh, file)

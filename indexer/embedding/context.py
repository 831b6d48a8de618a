"""The context of a corpus: sampled from its chunks, counted, put through the first stage, measured."""

import numpy as np

from cdesearch.context.context import Context, TokenFrequencies
from cdesearch.context.sample import sample_context
from cdesearch.encode.encoder import Encoder
from indexer.embedding.embedding_cache import OwnVectors
from indexer.embedding.spool import Spool
from indexer.progress import Progress

COUNTED_CHUNKS = 20_000  # enough for token frequencies
MEASURED_CHUNKS = 8_192  # for the statistics; 512 depend too much on which are drawn: benchmarks/results/LOG.md


def make_context(
    spool: Spool, encoder: Encoder, size: int, seed: int, old: Context | None, progress: Progress
) -> Context:
    """A fresh sample of the spooled corpus, before its statistics.

    First-stage vectors that `old` has for the same texts are taken over.
    """
    chosen = set(sample_context(_triples(spool), size, seed))
    sampled: dict[str, tuple[str, str]] = {}
    frequencies = TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, np.int64), 0)
    n_chunks = spool.count()
    one_in = -(-n_chunks // COUNTED_CHUNKS)
    advance = progress.stage("Counting words", n_chunks)
    for window in spool.windows(["id", "content_hash", "text"]):
        rows = list(zip(*(window[name].to_pylist() for name in window.schema.names), strict=True))
        sampled |= {chunk: (content, text) for chunk, content, text in rows if chunk in chosen}
        counted = [text for _, content, text in rows if int(content[:8], 16) % one_in == 0]
        frequencies += encoder.count_tokens(counted)
        advance(len(rows))
    return _from_sample(sampled, frequencies, encoder, seed, old, progress)


def measure(bare: Context, spool: Spool, own: OwnVectors, encoder: Encoder) -> Context:
    """The statistics of the corpus, whose own vectors were made in `bare`: of all its chunks, or of a large sample."""
    triples = _triples(spool)
    contents = {chunk: content for chunk, _, content in triples}
    hashes = [contents[chunk] for chunk in sample_context(triples, MEASURED_CHUNKS, bare.seed)]
    return encoder.with_statistics(bare, hashes, own.of(hashes))


def _triples(spool: Spool) -> list[tuple[str, str, str]]:
    return [
        row
        for window in spool.windows(["id", "document_id", "content_hash"])
        for row in zip(*(window[name].to_pylist() for name in window.schema.names), strict=True)
    ]


def _from_sample(
    sampled: dict[str, tuple[str, str]],
    frequencies: TokenFrequencies,
    encoder: Encoder,
    seed: int,
    old: Context | None,
    progress: Progress,
) -> Context:
    ids = sorted(sampled)
    hashes, texts = [sampled[chunk][0] for chunk in ids], [sampled[chunk][1] for chunk in ids]
    vectors = np.zeros((len(ids), encoder.dimension), np.float32)
    if encoder.reads_context:
        known = dict(zip(old.content_hashes, old.vectors, strict=True)) if old else {}
        fresh = [row for row, content in enumerate(hashes) if content not in known]
        advance = progress.stage("Embedding the context", len(fresh))
        vectors[fresh] = encoder.first_stage([texts[row] for row in fresh], advance)
        for row, content in enumerate(hashes):
            if content in known:
                vectors[row] = known[content]
    return encoder.bare_context(ids, hashes, vectors, frequencies, seed)

"""The context of a corpus: sampled from its chunks, counted, put through the first stage."""

import numpy as np

from cdesearch.context import Context, TokenFrequencies
from cdesearch.encoder import Encoder
from indexer.progress import Progress
from indexer.sample import sample_context
from indexer.spool import Spool

COUNTED_CHUNKS = 20_000  # enough for token frequencies


def make_context(
    spool: Spool, encoder: Encoder, size: int, seed: int, old: Context | None, progress: Progress
) -> Context:
    """A fresh sample of the spooled corpus. First-stage vectors that `old` has for the same texts are taken over."""
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
    known = dict(zip(old.content_hashes, old.vectors, strict=True)) if old else {}
    fresh = [row for row, content in enumerate(hashes) if content not in known] if encoder.reads_context else []
    vectors = np.zeros((len(ids), encoder.dimension), np.float32)
    advance = progress.stage("Embedding the context", len(fresh) + len(ids))
    vectors[fresh] = encoder.first_stage([texts[row] for row in fresh], advance)
    for row, content in enumerate(hashes):
        if content in known:
            vectors[row] = known[content]
    return encoder.make_context(ids, hashes, texts, vectors, frequencies, seed, advance)

"""The context of texts in memory, sampled and fitted like the context of an index."""

from collections.abc import Sequence
from hashlib import blake2b

from cdesearch.context.context import Context
from cdesearch.context.sample import COUNTED_TEXTS, FITTED_TEXTS, choose_chunks
from cdesearch.encode.encoder import Encoder


def context_of_texts(encoder: Encoder, texts: Sequence[str], size: int, seed: int) -> Context:
    """A sample of at most `size` texts, and a whitening fitted to at most FITTED_TEXTS, which are encoded for it.

    The chunk ids are positions in `texts`. Each text counts as a document of its own.
    """
    hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest() for text in texts]
    triples = [(str(position), str(position), content) for position, content in enumerate(hashes)]
    ids = choose_chunks(triples, size, seed)
    fitted_ids = choose_chunks(triples, FITTED_TEXTS, seed)
    one_in = -(-len(texts) // COUNTED_TEXTS)
    counted = [text for text, content in zip(texts, hashes, strict=True) if int(content[:8], 16) % one_in == 0]
    frequencies = encoder.count_tokens(counted)
    states = encoder.context_vectors([texts[int(chunk)] for chunk in ids])
    sample = encoder.make_sample(ids, [hashes[int(chunk)] for chunk in ids], states, frequencies, seed)
    pooled = encoder.encode([texts[int(chunk)] for chunk in fitted_ids], "document", sample)
    fitted = encoder.fit(sample, [hashes[int(chunk)] for chunk in fitted_ids], pooled)
    rows = {chunk: row for row, chunk in enumerate(fitted_ids)}  # contains `ids`, a smaller sample by the same seed
    return Context.of(fitted, fitted.whitening.apply(pooled[[rows[chunk] for chunk in ids]]))

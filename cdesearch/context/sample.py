"""Sample the chunks of a corpus that become its context."""

import math
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from heapq import nsmallest

COUNTED_TEXTS = 20_000  # texts of a larger corpus in which tokens are counted
FITTED_TEXTS = 8_192  # for the whitening; with 512, results depend on the sample: benchmarks/results/LOG.md


def choose_chunks(chunks: Iterable[tuple[str, str, str]], size: int, seed: int) -> list[str]:
    """Ids of at most `size` chunks from (id, document id, content hash) triples, sorted; no text twice.

    Weighted sampling without replacement (Efraimidis and Spirakis 2006): a document of n chunks weighs sqrt(n), so a
    long file is represented but does not dominate. Sampling depends only on the seed and the set of chunks, not on the
    order or location of files. A corpus that changes a little gets a sample that changes a little.
    """
    listed = list(chunks)
    lengths = Counter(document for _, document, _ in listed)
    best: dict[str, tuple[float, str]] = {}  # by content hash: repeated texts, such as licence headers, count once
    for chunk, document, content in listed:
        digest = blake2b(f"{seed} {content}".encode(), digest_size=8).digest()
        uniform = (int.from_bytes(digest, "big") + 1) / 2**64  # in (0, 1]
        key = -math.log(uniform) * math.sqrt(lengths[document]), chunk
        best[content] = min(best.get(content, key), key)
    return sorted(chunk for _, chunk in nsmallest(size, best.values()))

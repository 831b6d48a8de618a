"""Sample the chunks of a corpus that become its context."""

import math
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from heapq import nsmallest
from operator import itemgetter

COUNTED_TEXTS = 20_000  # texts of a larger corpus in which tokens are counted
MOST_RANKED = 100_000  # texts whose ranks are kept in memory, in addition to twice those that are chosen
FITTED_TEXTS = 8_192  # for the whitening; with 512, results depend on the sample: benchmarks/results/LOG.md

Ranks = dict[str, tuple[float, str]]  # the rank of each text and the id of its chunk, by content hash; low ranks win


def choose_chunks(chunks: Iterable[tuple[str, str, str]], size: int, seed: int) -> list[str]:
    """Ids of at most `size` chunks from (id, document id, content hash) triples, sorted; no text twice.

    Weighted sampling without replacement (Efraimidis and Spirakis 2006): a document of n chunks weighs sqrt(n), so a
    long file is represented but does not dominate. Sampling depends only on the seed and the set of chunks, not on the
    order or location of files. A corpus that changes a little gets a sample that changes a little.
    """
    listed = list(chunks)
    lengths = Counter(document for _, document, _ in listed)
    best: Ranks = {}  # by content hash: repeated texts, such as licence headers, count once
    for chunk, document, content in listed:
        key = -math.log(_uniform(content, seed)) * math.sqrt(lengths[document]), chunk
        best[content] = min(best.get(content, key), key)
        if len(best) > MOST_RANKED + 2 * size:
            best = _lowest(best, size)
    return sorted(chunk for _, chunk in _lowest(best, size).values())


def _lowest(ranks: Ranks, size: int) -> Ranks:
    return dict(nsmallest(size, ranks.items(), key=itemgetter(1)))


def _uniform(content: str, seed: int) -> float:
    """A number in (0, 1] that depends only on the content hash and the seed."""
    digest = blake2b(f"{seed} {content}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 1) / 2**64

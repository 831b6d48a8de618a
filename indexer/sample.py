"""Which chunks are the context?"""

import math
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from heapq import nsmallest


def sample_context(chunks: Iterable[tuple[str, str]], size: int, seed: int) -> list[str]:
    """Ids of at most `size` chunks from (id, document id) pairs, sorted.

    Weighted sampling without replacement (Efraimidis and Spirakis 2006): a document of n chunks weighs sqrt(n), so a
    long file is heard but does not dominate. The draw hangs on seed and ids alone, not on the order of files.
    """
    pairs = list(chunks)
    lengths = Counter(document for _, document in pairs)

    def key(pair: tuple[str, str]) -> tuple[float, str]:
        chunk, document = pair
        digest = blake2b(f"{seed} {chunk}".encode(), digest_size=8).digest()
        uniform = (int.from_bytes(digest, "big") + 1) / 2**64
        return -math.log(uniform) * math.sqrt(lengths[document]), chunk

    return sorted(chunk for chunk, _ in nsmallest(size, pairs, key=key))

"""Context that is disjoint from its batch: similar documents of the same domain, as in an index.

If the documents of a batch are its context, the context contains each query's own document. In an index that is rare,
and a model could learn to find the document there.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.batches.cluster import Clusters


class ContextDocuments:
    """The distinct documents of one domain that can be context, by cluster."""

    def __init__(self, texts: Sequence[str], documents: Floats, clusters: Clusters) -> None:
        """`documents` (N, d) are the vectors of the `texts` of N pairs, and `clusters` are those of the pairs."""
        # A document can belong to several pairs: the first of them represents it.
        self._digests, self._rows = np.unique(_digests(texts), return_index=True)
        self._assignment = clusters.assignment[self._rows]
        k = len(clusters.centroids)
        by_cluster = np.argsort(self._assignment, kind="stable")
        counts = np.bincount(self._assignment, minlength=k)
        self._members = np.split(by_cluster, np.cumsum(counts)[:-1])  # indices in _rows, one array a cluster
        self._means = np.zeros((k, documents.shape[1]), np.float32)
        for cluster, members in enumerate(self._members):
            if len(members):
                self._means[cluster] = documents[np.sort(self._rows[members])].mean(0)

    def choose(
        self, documents: Sequence[str], others: Sequence[str], mean: Floats, size: int, random: np.random.Generator
    ) -> NDArray[np.int64]:
        """Rows of at most `size` texts; none is one of the batch's `documents` or of `others`, its hard negatives.

        They come from the clusters of `documents`, then from the clusters nearest to their `mean` (d,) vector, and so
        on through the whole domain.
        """
        own = self._find(documents)
        available = np.ones(len(self._rows), np.bool_)
        available[own] = available[self._find(others)] = False
        nearness = self._means @ mean
        nearness[self._assignment[own]] = np.inf
        chosen: list[int] = []
        for cluster in np.argsort(-nearness, kind="stable"):
            members = self._members[cluster]
            members = random.permutation(members[available[members]])
            chosen += members[: size - len(chosen)].tolist()
            if len(chosen) == size:
                break
        rows: NDArray[np.int64] = np.sort(self._rows[chosen])
        return rows

    def _find(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The indices of those `texts` that are documents of the domain."""
        wanted = _digests(texts)
        found = np.minimum(np.searchsorted(self._digests, wanted), len(self._digests) - 1)
        indices: NDArray[np.int64] = found[self._digests[found] == wanted]
        return indices


def _digests(texts: Sequence[str]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, np.uint64)

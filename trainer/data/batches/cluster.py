"""Which pairs share a batch: similar ones, which are clustered by k-means and packed into batches of equal size.

Clusters are the pseudo-domains of CDE section 4.1, equation 3. Packing is that of section 10.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.errors import InputError
from trainer.data.store import Integers, random_stream


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each pair of a domain."""

    assignment: Integers  # (N,) in 0..k-1
    centroids: Floats  # (k, p)


def cluster_pairs(queries: Floats, documents: Floats, cluster_size: int, seed: int) -> Clusters:
    """Spherical k-means over pairs, from unit vectors (N, d) of their queries and documents.

    Each pair gives two points, query + document and document + query concatenated, so that queries are compared with
    the documents of other pairs, too. k is N / cluster_size, rounded up. The best of three tries counts. Raises
    InputError if faiss is needed and not installed.
    """
    n = len(queries)
    k = max(1, -(-n // cluster_size))
    points = np.concatenate([np.hstack([queries, documents]), np.hstack([documents, queries])]).astype(np.float32)
    if k == 1:
        return Clusters(np.zeros(n, np.int64), points.mean(axis=0, keepdims=True))
    if find_spec("faiss") is None:
        raise InputError(
            "faiss is not installed, and clusters need it.",
            "Run `pip install faiss-cpu`, or copy run.out/data from a machine that has prepared it.",
        )
    import faiss

    means = faiss.Kmeans(
        points.shape[1],
        k,
        niter=100,
        nredo=3,
        spherical=True,
        seed=seed,
        gpu=faiss.get_num_gpus() > 0 if hasattr(faiss, "get_num_gpus") else False,
        # These limits have no effect when they are set on the object afterwards.
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
    )
    means.train(points)
    return Clusters(means.assign(points[:n])[1].astype(np.int64), np.asarray(means.centroids, np.float32))


def cluster_documents(document_ids: Sequence[str], queries: Floats, documents: Floats) -> Clusters:
    """One cluster for each long document (in-sequence negatives: Conti et al., 2025); N pairs, unit vectors (N, d)."""
    names, assignment = np.unique(np.asarray(document_ids), return_inverse=True)
    sums = np.zeros((len(names), 2 * queries.shape[1]), np.float32)
    np.add.at(sums, assignment, np.hstack([queries, documents]))
    return Clusters(assignment.astype(np.int64), to_unit(sums))


@dataclass(frozen=True, slots=True)
class Packed:
    """The pairs of one batch, all of one domain."""

    domain: str
    rows: Integers  # (B,)


def pack(clusters: Mapping[str, Clusters], batch_size: int, seed: int, epoch: int) -> list[Packed]:
    """The batches of one epoch in random order. Every epoch packs them again.

    The pairs of a domain are concatenated cluster by cluster, from a random start, and cut into batches. Large clusters
    are split, and small ones share a batch with their neighbours, which are similar. The N mod batch_size pairs that
    remain are left out of this epoch. With the random start, they differ from epoch to epoch.
    """
    batches = []
    for number, (domain, found) in enumerate(sorted(clusters.items())):
        random = random_stream(seed, "pairs of an epoch", epoch, number)
        batches += [Packed(domain, rows) for rows in _packed(found, batch_size, random)]
    random = random_stream(seed, "batches of an epoch", epoch)
    return [batches[index] for index in random.permutation(len(batches))]


def _packed(found: Clusters, batch_size: int, random: np.random.Generator) -> Integers:
    shuffled = random.permutation(len(found.assignment))
    rank = np.empty(len(found.centroids), np.int64)
    rank[_tour(found.centroids, random)] = np.arange(len(rank))
    row = shuffled[np.argsort(rank[found.assignment[shuffled]], kind="stable")]
    row = np.roll(row, -int(random.integers(len(row)))) if len(row) else row
    return row[: len(row) // batch_size * batch_size].reshape(-1, batch_size)


def _tour(centroids: Floats, random: np.random.Generator) -> Integers:
    """An order of the clusters: from a random one on, always the nearest that remains (greedy travelling salesman)."""
    k = len(centroids)
    current = int(random.integers(k))
    left = np.ones(k, bool)
    tour = np.empty(k, np.int64)
    for step in range(k):
        tour[step] = current
        left[current] = False
        if step < k - 1:
            nearness = centroids @ centroids[current]
            current = int(np.argmax(np.where(left, nearness, -np.inf)))
    return tour

"""Clusters of similar pairs by k-means: the pseudo-domains of batches (CDE section 4.1, equation 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from cdesearch.errors import InputError

ITERATIONS = 100
TRIES = 3


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each pair of a domain."""

    assignment: NDArray[np.int64]  # (N,) in 0..k-1
    centroids: Floats  # (k, p)


def cluster_pairs(queries: Floats, documents: Floats, cluster_size: int, seed: int) -> Clusters:
    """Spherical k-means over pairs, from unit vectors (N, d) of their queries and documents.

    Each pair gives two points, query + document and document + query concatenated, so that queries are compared with
    the documents of other pairs, too. k is N / cluster_size, rounded up. The best of TRIES tries counts. Raises
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
        niter=ITERATIONS,
        nredo=TRIES,
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
    """One cluster for each long document, with the pairs of its chunks; N pairs, unit vectors (N, d).

    The hardest negatives of a chunk are the other chunks of its document (in-sequence negatives: Conti et al. 2025,
    ConTEB).
    """
    names, assignment = np.unique(np.asarray(document_ids), return_inverse=True)
    sums = np.zeros((len(names), 2 * queries.shape[1]), np.float32)
    np.add.at(sums, assignment, np.hstack([queries, documents]))
    unit = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return Clusters(assignment.astype(np.int64), unit)


def unclustered(n_pairs: int) -> Clusters:
    """A single cluster of all pairs, so that batches are drawn from a domain at random."""
    return Clusters(np.zeros(n_pairs, np.int64), np.zeros((1, 1), np.float32))

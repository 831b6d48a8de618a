"""Packing clusters into batches of equal size, each of one domain (CDE section 10.5)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.batches.cluster import Clusters
from trainer.data.random_stream import random_stream

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packed:
    """The pairs of one batch, all of one domain."""

    domain: str
    rows: Rows  # (B,)


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


def _packed(found: Clusters, batch_size: int, random: np.random.Generator) -> Rows:
    """The rows (n, batch_size) of all whole batches."""
    shuffled = random.permutation(len(found.assignment))
    rank = np.empty(len(found.centroids), np.int64)
    rank[_tour(found.centroids, random)] = np.arange(len(rank))
    row = shuffled[np.argsort(rank[found.assignment[shuffled]], kind="stable")]
    row = np.roll(row, -int(random.integers(len(row)))) if len(row) else row
    return row[: len(row) // batch_size * batch_size].reshape(-1, batch_size)


def _tour(centroids: Floats, random: np.random.Generator) -> Rows:
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

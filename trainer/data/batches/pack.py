"""Packing clusters into batches of equal size, each of one domain (CDE section 10.5)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.batches.cluster import Clusters
from trainer.data.random_stream import random_stream

Order = Literal["random", "tour"]
Rows = NDArray[np.int64]
NO_WEIGHTS: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Packed:
    """The pairs of one batch, all of one domain."""

    domain: str
    rows: Rows  # (B,)


def pack(
    clusters: Mapping[str, Clusters],
    batch_size: int,
    order: Order,
    seed: int,
    epoch: int,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> list[Packed]:
    """The batches of one epoch in random order. Every epoch packs them again.

    A domain has a share of the batches by its number of pairs, times its weight, which is 1 by default. With a weight
    below 1, an epoch has some of its batches, drawn at random, but at least one; above 1, its pairs are packed several
    times.

    The pairs of a domain are concatenated cluster by cluster, from a random start, and cut into batches. Large clusters
    are split, and small ones share a batch with their neighbours, which are similar if `order` is `tour`. The N mod
    batch_size pairs that remain are left out of this epoch. With the random start, they differ from epoch to epoch.
    """
    batches = []
    for number, (domain, found) in enumerate(sorted(clusters.items())):
        random = random_stream(seed, "pairs of an epoch", epoch, number)
        weight = weights.get(domain, 1.0)
        packed = np.concatenate([_packed(found, batch_size, order, random) for _ in range(max(1, math.ceil(weight)))])
        if weight != 1:
            n_batches = max(1, round(weight * (len(found.assignment) // batch_size)))
            packed = packed[random.permutation(len(packed))[:n_batches]]
        batches += [Packed(domain, rows) for rows in packed]
    random = random_stream(seed, "batches of an epoch", epoch)
    return [batches[index] for index in random.permutation(len(batches))]


def _packed(found: Clusters, batch_size: int, order: Order, random: np.random.Generator) -> Rows:
    """The rows (n, batch_size) of all whole batches."""
    row = _row(found, order, random)
    row = np.roll(row, -int(random.integers(len(row)))) if len(row) else row
    return row[: len(row) // batch_size * batch_size].reshape(-1, batch_size)


def _row(found: Clusters, order: Order, random: np.random.Generator) -> Rows:
    shuffled = random.permutation(len(found.assignment))
    k = len(found.centroids)
    rank = np.empty(k, np.int64)
    rank[_tour(found.centroids, random) if order == "tour" else random.permutation(k)] = np.arange(k)
    row: Rows = shuffled[np.argsort(rank[found.assignment[shuffled]], kind="stable")]
    return row


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

"""Spherical k-means in torch, on a GPU if there is one, for machines without faiss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cdesearch.context.vectors import Floats

CELLS = 1 << 26  # scores in memory at once


@dataclass(frozen=True, slots=True)
class KMeans:
    """k unit centroids and the sum of the products of all points with their nearest ones."""

    centroids: Floats  # (k, p)
    objective: float

    def assign(self, points: Floats) -> NDArray[np.int64]:
        """(n,) the nearest centroid of each point."""
        device = _device()
        nearest, _ = _nearest(torch.from_numpy(points).to(device), torch.from_numpy(self.centroids).to(device))
        return nearest.cpu().numpy()


def spherical_kmeans(
    points: Floats, k: int, seed: int, *, number: int, iterations: int, advance: Callable[[int], object]
) -> KMeans:
    """Try `number`, counted from 0, with k random points as its start; the same seed and number have the same result.

    A cluster without points starts again at one of the points that are farthest from their centroids. There must be
    n >= k points (n, p). `advance` is called with 0 before each iteration, and can stop it.
    """
    random = np.random.default_rng(seed)
    for _ in range(number):
        random.permutation(len(points))  # of the tries before
    return _means(
        torch.from_numpy(np.ascontiguousarray(points)).to(_device()),
        random.permutation(len(points))[:k],
        iterations,
        advance,
    )


def _means(points: Tensor, start: NDArray[np.int64], iterations: int, advance: Callable[[int], object]) -> KMeans:
    k = len(start)
    centroids = functional.normalize(points[torch.from_numpy(start).to(points.device)], dim=1)
    nearest, products = _nearest(points, centroids)
    for _ in range(iterations):
        advance(0)
        empty = torch.bincount(nearest, minlength=k) == 0
        centroids = functional.normalize(_sums(points, nearest, k), dim=1)
        farthest = products.argsort(stable=True)[: int(empty.sum())]
        centroids[empty] = functional.normalize(points[farthest], dim=1)
        before = nearest
        nearest, products = _nearest(points, centroids)
        if torch.equal(before, nearest):
            break
    return KMeans(centroids.cpu().numpy(), float(products.double().sum()))


def _nearest(points: Tensor, centroids: Tensor) -> tuple[Tensor, Tensor]:
    """(n,) the index of the centroid with the largest product for each point, and (n,) that product."""
    rows = max(1, CELLS // len(centroids))
    parts = [(part @ centroids.T).max(dim=1) for part in points.split(rows)]
    return torch.cat([part.indices for part in parts]), torch.cat([part.values for part in parts])


def _sums(points: Tensor, nearest: Tensor, k: int) -> Tensor:
    """(k, p) sums of each cluster's points. Products compute them, because a GPU adds by index in no fixed order."""
    sums = points.new_zeros(k, points.shape[1])
    rows = max(1, CELLS // k)
    for part, chosen in zip(points.split(rows), nearest.split(rows), strict=True):
        sums += points.new_zeros(k, len(part)).scatter_(0, chosen[None], 1.0) @ part
    return sums


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

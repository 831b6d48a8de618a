"""Clusters of similar pairs by k-means: the pseudo-domains of batches (CDE section 4.1, equation 3)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.batches.torch_kmeans import spherical_kmeans
from trainer.data.stored import damaged, digest_of, kept_arrays
from trainer.replacing import remove

ITERATIONS = 100
TRIES = 3
TRY = ("assignment", "centroids", "objective")
SEEDS = 15_486_557  # between the seeds of two tries, as in the `nredo` of faiss


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each pair of a domain."""

    assignment: NDArray[np.int64]  # (N,) in 0..k-1
    centroids: Floats  # (k, p)


@dataclass(frozen=True, slots=True)
class Stoppable:
    """Where a clustering keeps its complete tries, and a function that stops it by an exception."""

    folder: Path
    advance: Callable[[int], object]


def cluster_pairs(
    queries: Floats,
    documents: Floats,
    cluster_size: int,
    seed: int,
    components: int | None = None,
    stoppable: Stoppable | None = None,
) -> Clusters:
    """Spherical k-means over pairs, from unit vectors (N, d) of their queries and documents.

    Each pair gives two points, query + document and document + query concatenated, so that queries are compared with
    the documents of other pairs, too. k is N / cluster_size, rounded up. With `components`, an SVD reduces the points
    to so many dimensions first.

    The best of TRIES tries counts. If `stoppable` stops the clustering, the next one goes on with the next try.
    """
    n = len(queries)
    k = max(1, -(-n // cluster_size))
    if components is not None and components < queries.shape[1]:
        queries, documents = _reduced(queries, documents, components)
    points = np.concatenate([np.hstack([queries, documents]), np.hstack([documents, queries])]).astype(np.float32)
    if k == 1:
        return Clusters(np.zeros(n, np.int64), points.mean(axis=0, keepdims=True))
    tries = []
    for number in range(TRIES):
        make = partial(_try, points, k, seed, number, stoppable)
        if stoppable is None:
            tries.append(make())
        else:
            file = stoppable.folder / f"{number}.npz"
            tries.append(kept_arrays(file, TRY, make))
            if len(tries[-1]["assignment"]) != len(points):
                raise damaged(file)
            stoppable.advance(0)
    best = max(tries, key=lambda one: float(one["objective"]))
    return Clusters(best["assignment"][:n], best["centroids"])


def _try(points: Floats, k: int, seed: int, number: int, stoppable: Stoppable | None) -> dict[str, NDArray[Any]]:
    """Spherical k-means from one start: the cluster of each point, the centroids, and the sum of their products.

    torch can be stopped after each iteration, faiss only by Ctrl-C.
    """
    if find_spec("faiss") is None:
        advance = stoppable.advance if stoppable is not None else lambda _: None
        found = spherical_kmeans(points, k, seed, number=number, iterations=ITERATIONS, advance=advance)
        return {
            "assignment": found.assign(points),
            "centroids": found.centroids,
            "objective": np.array(found.objective),
        }
    import faiss

    means = faiss.Kmeans(
        points.shape[1],
        k,
        niter=ITERATIONS,
        spherical=True,
        seed=seed + number * SEEDS,
        gpu=faiss.get_num_gpus() > 0 if hasattr(faiss, "get_num_gpus") else False,
        # These limits have no effect when they are set on the object afterwards.
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
    )
    objective = means.train(points)
    assignment = means.assign(points)[1].astype(np.int64)
    return {
        "assignment": assignment,
        "centroids": np.asarray(means.centroids, np.float32),
        "objective": np.array(objective),
    }


def kept_clusters(folder: Path, made_from: Iterable[str], n: int, make: Callable[[Path], Clusters]) -> Clusters:
    """The clusters of n pairs that `make` returns, stored in `folder`: other runs need neither the time nor faiss.

    `make` takes a folder for what it keeps if it is stopped.

    `made_from` is everything that the clusters depend on: texts, settings and the surrogate's fingerprint. Vectors are
    not among it, because their last bits differ between machines. Raises StorageError if the stored ones are damaged.
    """
    file = folder / f"{digest_of(made_from)}.npz"
    parts = file.with_suffix(".parts")

    def made() -> dict[str, NDArray[Any]]:
        found = make(parts)
        return {"assignment": found.assignment, "centroids": found.centroids}

    kept = kept_arrays(file, ("assignment", "centroids"), made)
    if len(kept["assignment"]) != n or not _is_sound(**kept):
        raise damaged(file)
    remove(parts)
    return Clusters(**kept)


def _is_sound(assignment: NDArray[Any], centroids: NDArray[Any]) -> bool:
    """Whether arrays from a file can be clusters."""
    return (
        assignment.dtype == np.int64
        and centroids.ndim == 2
        and centroids.dtype == np.float32
        and bool(np.isfinite(centroids).all())
        and bool(((assignment >= 0) & (assignment < len(centroids))).all())
    )


def cluster_documents(document_ids: Sequence[str], queries: Floats, documents: Floats) -> Clusters:
    """One cluster for each long document, with the pairs of its chunks; N pairs, unit vectors (N, d).

    The hardest negatives of a chunk are the other chunks of its document (in-sequence negatives: Conti et al. 2025,
    ConTEB).
    """
    names, assignment = np.unique(np.asarray(document_ids), return_inverse=True)
    sums = np.zeros((len(names), 2 * queries.shape[1]), np.float32)
    np.add.at(sums, assignment, np.hstack([queries, documents]))
    return Clusters(assignment.astype(np.int64), _unit(sums))


def sparse_vectors(queries: list[str], documents: list[str], components: int, seed: int) -> tuple[Floats, Floats]:
    """(N, components) unit TF-IDF vectors of queries and documents, by SVD: clustering without a surrogate model."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = TfidfVectorizer(sublinear_tf=True, max_features=200_000).fit_transform(queries + documents)
    svd = TruncatedSVD(min(components, min(counted.shape) - 1), random_state=seed)
    vectors = _unit(svd.fit_transform(counted).astype(np.float32))
    return vectors[: len(queries)], vectors[len(queries) :]


def _reduced(queries: Floats, documents: Floats, components: int) -> tuple[Floats, Floats]:
    both = np.concatenate([queries, documents])
    values, axes = np.linalg.eigh(both.T @ both)
    axes = axes[:, np.argsort(-values)[:components]]
    return _unit(queries @ axes), _unit(documents @ axes)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit

import sys

import faiss
import numpy as np
import pytest

from trainer.data.batches import cluster
from trainer.data.batches.cluster import ITERATIONS, TRIES, cluster_pairs
from trainer.data.batches.torch_kmeans import spherical_kmeans


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def clouds(n_clouds, n, width=16, spread=0.4, seed=0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_clouds, width))
    return unit(centres[random.integers(n_clouds, size=n)] + spread * random.normal(size=(n, width)))


def k_means(points, k, seed, number=0, iterations=ITERATIONS):
    return spherical_kmeans(points, k, seed, number=number, iterations=iterations, advance=lambda _: None)


@pytest.mark.parametrize(("n_clouds", "spread", "k"), [(600, 1.0, 8), (600, 1.0, 20)])
def test_the_objective_is_that_of_faiss(n_clouds, spread, k):
    points = clouds(n_clouds, 600, spread=spread)
    settings = {"niter": ITERATIONS, "spherical": True, "min_points_per_centroid": 1, "max_points_per_centroid": 9999}
    found = k_means(points, k, 1)
    theirs = faiss.Kmeans(points.shape[1], k, **settings)
    theirs.train(points, init_centroids=points[np.random.default_rng(1).permutation(len(points))[:k]])
    assert found.objective == pytest.approx(float(theirs.assign(points)[0].sum()), rel=1e-4)
    theirs = faiss.Kmeans(points.shape[1], k, nredo=TRIES, seed=1, **settings)
    theirs.train(points)
    found = max((k_means(points, k, 2, number) for number in range(TRIES)), key=lambda one: one.objective)
    assert found.objective == pytest.approx(float(theirs.assign(points)[0].sum()), rel=0.01)
    assert found.objective == pytest.approx(float((points @ found.centroids.T).max(1).sum()), rel=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found.centroids, axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_clusters_and_another_seed_others():
    points = clouds(400, 1000, spread=1.0)
    one, same, other = (k_means(points, 20, seed, iterations=5) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.centroids, same.centroids)
    assert one.objective == same.objective != other.objective


def test_no_cluster_stays_empty_if_there_are_enough_different_points():
    points = np.concatenate([np.repeat(clouds(1, 1), 500, axis=0), clouds(30, 40, seed=1)])
    found = k_means(points, 20, 0)
    assert len(np.unique(found.assign(points))) == 20


def test_equal_points_leave_clusters_empty_without_an_error():
    points = np.repeat(clouds(1, 1), 9, axis=0)
    found = k_means(points, 4, 0)
    assert np.isfinite(found.centroids).all() and found.objective == pytest.approx(9, rel=1e-4)


def test_without_faiss_pairs_are_clustered_by_torch(monkeypatch):
    queries, documents = clouds(300, 200, seed=1), clouds(300, 200, seed=2)
    expected = cluster_pairs(queries, documents, 50, 0)
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "faiss", None)
    found = cluster_pairs(queries, documents, 50, 0)
    assert found.assignment.shape == (200,) and found.assignment.max() < 4
    points = np.hstack([queries, documents])
    objectives = [(points * clusters.centroids[clusters.assignment]).sum() for clusters in (expected, found)]
    assert objectives[1] == pytest.approx(objectives[0], rel=0.03)  # of half of the points

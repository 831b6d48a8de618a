from collections import Counter

import numpy as np

from trainer.data.batches.cluster import cluster_documents, cluster_pairs


def test_k_means_puts_similar_pairs_in_one_cluster():
    random = np.random.default_rng(0)
    topics = np.eye(8, 16, dtype=np.float32)[np.repeat(np.arange(8), 30)]
    points = topics + 0.05 * random.standard_normal(topics.shape).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = cluster_pairs(points, points, cluster_size=30, seed=0)
    assert found.centroids.shape == (8, 32) and found.assignment.shape == (240,)
    purity = sum(Counter(found.assignment[topic * 30 : (topic + 1) * 30]).most_common(1)[0][1] for topic in range(8))
    assert purity >= 0.9 * 240
    again = cluster_pairs(points, points, cluster_size=30, seed=0)
    np.testing.assert_array_equal(again.assignment, found.assignment)


def test_the_chunks_of_a_document_are_a_cluster():
    vectors = np.eye(4, dtype=np.float32)
    found = cluster_documents(["b", "a", "b", "c"], vectors, vectors)
    assert found.assignment.tolist() == [1, 0, 1, 2]
    np.testing.assert_allclose(np.linalg.norm(found.centroids, axis=1), np.ones(3), rtol=1e-6)

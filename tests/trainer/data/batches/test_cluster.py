from collections import Counter

import numpy as np
import pytest

from cdesearch.errors import StorageError
from trainer.data.batches.cluster import Clusters, cluster_pairs, kept_clusters, sparse_vectors


def test_k_means_puts_similar_pairs_in_one_cluster():
    random = np.random.default_rng(0)
    topics = np.eye(8, 16, dtype=np.float32)[np.repeat(np.arange(8), 30)]
    points = topics + 0.05 * random.standard_normal(topics.shape).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = cluster_pairs(points, points, cluster_size=30, seed=0)
    assert len(found.centroids) == 8
    purity = sum(Counter(found.assignment[topic * 30 : (topic + 1) * 30]).most_common(1)[0][1] for topic in range(8))
    assert purity >= 0.9 * 240
    again = cluster_pairs(points, points, cluster_size=30, seed=0, components=8)
    assert again.centroids.shape == (8, 16)


def test_words_cluster_without_a_model():
    documents = ["the cat purrs"] * 10 + ["engines burn fuel"] * 10
    queries, texts = sparse_vectors(documents, documents, 2, seed=0)
    assert queries.shape == (20, 2) and np.linalg.norm(texts, axis=1) == pytest.approx(np.ones(20), abs=1e-4)
    assert queries[0] @ texts[1] > 0.99 > queries[0] @ texts[15]


def test_stored_clusters_are_used_for_the_same_inputs(tmp_path):
    made = []

    def make(_parts):
        made.append(Clusters((np.arange(3) + len(made)) % 3, np.eye(3, dtype=np.float32)))
        return made[-1]

    first, again = (kept_clusters(tmp_path, ["seed 0", "ab", "c"], 3, make) for _ in range(2))
    np.testing.assert_array_equal(first.assignment, again.assignment)
    np.testing.assert_array_equal(first.centroids, again.centroids)
    assert len(made) == 1
    for made_from in (["seed 1", "ab", "c"], ["seed 0", "a", "bc"], ["seed 0", "ab", "c", ""]):
        assert kept_clusters(tmp_path, made_from, 3, make).assignment is made[-1].assignment
    assert len(made) == 4
    with pytest.raises(StorageError, match="is damaged"):  # clusters of three pairs are not those of four
        kept_clusters(tmp_path, ["seed 0", "ab", "c"], 4, make)

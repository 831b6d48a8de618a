from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer import cluster
from trainer.cluster import Clusters, cluster_pairs, kept_clusters, sparse_vectors
from trainer.pack import pack

sizes = st.lists(st.integers(0, 90), min_size=1, max_size=4)


def clusters_of(n, k, seed=0):
    random = np.random.default_rng(seed)
    return Clusters(random.integers(0, k, n), random.standard_normal((k, 4)).astype(np.float32))


@settings(deadline=None)
@given(sizes, st.integers(1, 20), st.sampled_from(["random", "tour"]), st.integers(0, 3))
def test_batches_are_equal_of_one_domain_and_hold_every_pair_once(lengths, batch_size, order, epoch):
    domains = {f"d{number}": clusters_of(n, 7) for number, n in enumerate(lengths)}
    batches = pack(domains, batch_size, order, seed=1, epoch=epoch)
    assert all(len(batch.rows) == batch_size for batch in batches)
    for number, n in enumerate(lengths):
        seen = Counter(row for batch in batches if batch.domain == f"d{number}" for row in batch.rows.tolist())
        assert set(seen.values()) <= {1} and len(seen) == n // batch_size * batch_size
        assert all(0 <= row < n for row in seen)


def test_every_epoch_packs_anew_and_the_same_epoch_alike():
    domains = {"d": clusters_of(64, 8)}
    epochs = [[batch.rows.tolist() for batch in pack(domains, 8, "tour", 1, epoch)] for epoch in (0, 0, 1)]
    assert epochs[0] == epochs[1] != epochs[2]


def test_a_batch_is_one_cluster_where_sizes_agree():
    domains = {"d": Clusters(np.repeat(np.arange(8), 10), np.eye(8, dtype=np.float32))}
    mixed = [len(set((batch.rows // 10).tolist())) for batch in pack(domains, 10, "tour", 1, 0)]
    assert max(mixed) <= 2, "a batch begins anywhere, so it may hold the end of one cluster and the start of the next"


def test_k_means_finds_what_looks_alike():
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


def test_clusters_are_made_once(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    queries, documents = random.standard_normal((2, 60, 8)).astype(np.float32)
    first = kept_clusters(tmp_path, queries, documents, 20, seed=0)
    monkeypatch.setattr(cluster, "cluster_pairs", lambda *_: pytest.fail("made again"))
    again = kept_clusters(tmp_path, queries, documents, 20, seed=0)
    np.testing.assert_array_equal(first.assignment, again.assignment)
    np.testing.assert_array_equal(first.centroids, again.centroids)
    with pytest.raises(pytest.fail.Exception):
        kept_clusters(tmp_path, queries, documents, 20, seed=1)

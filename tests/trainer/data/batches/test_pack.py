from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.batches.cluster import Clusters, pack
from trainer.data.store import random_stream

sizes = st.lists(st.integers(0, 90), min_size=1, max_size=4)


def clusters_of(n, k, seed=0):
    random = np.random.default_rng(seed)
    return Clusters(random.integers(0, k, n), random.standard_normal((k, 4)).astype(np.float32))


@settings(deadline=None)
@given(sizes, st.integers(1, 20), st.integers(0, 3))
def test_batches_are_equal_of_one_domain_and_hold_every_pair_once(lengths, batch_size, epoch):
    domains = {f"d{number}": clusters_of(n, 7) for number, n in enumerate(lengths)}
    batches = pack(domains, batch_size, seed=1, epoch=epoch)
    assert all(len(batch.rows) == batch_size for batch in batches)
    for number, n in enumerate(lengths):
        seen = Counter(row for batch in batches if batch.domain == f"d{number}" for row in batch.rows.tolist())
        assert set(seen.values()) <= {1} and len(seen) == n // batch_size * batch_size
        assert all(0 <= row < n for row in seen)


def greedy_tour(centroids, first):
    """The tour to the nearest remaining cluster, by dot products one at a time."""
    tour = [first]
    while len(tour) < len(centroids):
        left = [number for number in range(len(centroids)) if number not in tour]
        tour.append(max(left, key=lambda number: float(np.dot(centroids[number], centroids[tour[-1]]))))
    return tour


def expected_batches(found, size, seed, epoch):
    """Shuffled pairs cluster after cluster along the tour, cut from a random start, one step at a time."""
    random = random_stream(seed, "pairs of an epoch", epoch, 0)
    shuffled = random.permutation(len(found.assignment)).tolist()
    tour = greedy_tour(found.centroids, int(random.integers(len(found.centroids))))
    rank = {cluster: number for number, cluster in enumerate(tour)}
    row = sorted(shuffled, key=lambda pair: rank[int(found.assignment[pair])])
    start = int(random.integers(len(row)))
    row = row[start:] + row[:start]
    return [row[begin : begin + size] for begin in range(0, len(row) // size * size, size)]


@given(st.integers(1, 12), st.integers(0, 3))
def test_batches_are_cut_from_the_tour_of_the_clusters_from_a_random_start_and_wrap_around(k, seed):
    found = clusters_of(500, k, seed)
    batches = [batch.rows.tolist() for batch in pack({"d": found}, 8, 1, 2)]
    assert sorted(batches) == sorted(expected_batches(found, 8, 1, 2))


def test_packing_depends_only_on_seed_and_epoch():
    domains = {name: clusters_of(64, 4) for name in ("a", "b")}

    def packed(given, seed, epoch):
        return [(batch.domain, batch.rows.tolist()) for batch in pack(given, 8, seed, epoch)]

    assert packed(domains, 1, 0) == packed(dict(reversed(domains.items())), 1, 0)
    assert len({str(packed(domains, seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9

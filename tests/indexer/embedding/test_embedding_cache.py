import numpy as np

from indexer.embedding.embedding_cache import EmbeddingCache


def test_vectors_of_a_stopped_run_are_found_by_the_next_one_in_any_order(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    names = [f"hash {number}" for number in range(5)]
    first = EmbeddingCache(tmp_path, 4, None, 0.6)
    assert first.missing(names) == names
    first.add(dict(zip(names[:3], vectors[:3], strict=True)))
    assert first.embedded == 3
    later = EmbeddingCache(tmp_path, 4, None, 0.6)
    assert later.missing(names) == names[3:] and later.embedded == 0
    later.add(dict(zip(names[3:], vectors[3:], strict=True)))
    order = [4, 0, 0, 3, 1, 2, 4]
    np.testing.assert_array_equal(later.of([names[row] for row in order]), vectors[order])


def test_a_cache_that_a_killed_run_has_dropped_in_part_knows_nothing(tmp_path):
    EmbeddingCache(tmp_path, 4, None, 0.6).add({"hash": np.ones(4, np.float32)})
    for file in tmp_path.glob("tables/own_vectors.lance/data/*"):
        file.unlink()
    cache = EmbeddingCache(tmp_path, 4, None, 0.6)
    assert cache.missing(["hash"]) == ["hash"]
    cache.add({"hash": np.ones(4, np.float32)})
    np.testing.assert_array_equal(cache.of(["hash"]), np.ones((1, 4)))

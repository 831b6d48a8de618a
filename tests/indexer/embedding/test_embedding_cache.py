import numpy as np

from indexer.embedding.embedding_cache import EmbeddingCache


def test_a_cache_that_a_killed_run_has_dropped_in_part_knows_nothing(tmp_path):
    EmbeddingCache(tmp_path, 4, None, 0.6).add({"hash": np.ones(4, np.float32)})
    for file in tmp_path.glob("tables/own_vectors.lance/data/*"):
        file.unlink()
    cache = EmbeddingCache(tmp_path, 4, None, 0.6)
    assert cache.missing(["hash"]) == ["hash"]
    cache.add({"hash": np.ones(4, np.float32)})
    np.testing.assert_array_equal(cache.of(["hash"]), np.ones((1, 4)))

import numpy as np

from benchmarks.measures import compare, measure_run


def test_measures_of_known_rankings():
    judged = {"a": {"x": 1}, "b": {"x": 1, "y": 1}, "c": {"z": 1}}
    found = measure_run(judged, {"a": ["w", "x"], "b": ["x", "y"]})
    np.testing.assert_allclose(found["nDCG@10"], [100 / np.log2(3), 100, 0])
    np.testing.assert_allclose(found["RR@10"], [50, 100, 0])
    np.testing.assert_allclose(found["R@100"], [100, 100, 0])


def test_a_real_difference_is_distinguished_from_chance():
    random = np.random.default_rng(0)
    other = random.normal(50, 10, 200)
    better = compare(other + random.normal(3, 5, 200), other)
    assert better.p < 0.001 and 0 < better.low < better.difference < better.high
    assert compare(other + random.normal(0, 5, 200), other).p > 0.05

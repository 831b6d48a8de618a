import numpy as np

from benchmarks.quality.measures import measure_run


def test_measures_of_known_rankings():
    judged = {"a": {"x": 1}, "b": {"x": 1, "y": 1}, "c": {"z": 1}}
    found = measure_run(judged, {"a": ["w", "x"], "b": ["x", "y"]})
    np.testing.assert_allclose(found["nDCG@10"], [100 / np.log2(3), 100, 0])
    np.testing.assert_allclose(found["RR@10"], [50, 100, 0])
    np.testing.assert_allclose(found["R@100"], [100, 100, 0])

import numpy as np

from benchmarks.comparison import compare


def test_a_real_difference_is_distinguished_from_chance():
    random = np.random.default_rng(0)
    other = random.normal(50, 10, 200)
    better = compare(other + random.normal(3, 5, 200), other)
    assert better.p < 0.001 and 0 < better.low < better.difference < better.high
    assert compare(other + random.normal(0, 5, 200), other).p > 0.05

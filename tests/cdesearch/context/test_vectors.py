import numpy as np
import pytest

from cdesearch.context.vectors import to_unit


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-10, 1.0, 1e18, 1e20, 3e38])
def test_vectors_of_any_size_get_length_one(size):
    vectors = np.array([[1, -1, 0.5, 0], [0, 0, 0, 1]], np.float32) * np.float32(size)
    directions = [[1 / 1.5, -1 / 1.5, 0.5 / 1.5, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(to_unit(vectors), directions, atol=1e-7)


def test_a_vector_beyond_the_range_of_squares_does_not_change_the_others():
    ordinary = np.random.default_rng(0).normal(size=(50, 24)).astype(np.float32)
    huge = np.full((1, 24), 1e38, np.float32)
    np.testing.assert_array_equal(to_unit(np.vstack([ordinary, huge]))[:-1], to_unit(ordinary))
    expected = ordinary / np.linalg.norm(ordinary, axis=1, keepdims=True)
    np.testing.assert_array_equal(to_unit(ordinary), expected)


def test_zeros_stay_zeros_and_infinity_is_no_direction():
    zeros, infinite = np.zeros(4, np.float32), np.array([np.inf, 1, 0, 0], np.float32)
    unit = to_unit(np.stack([zeros, infinite]))
    np.testing.assert_array_equal(unit[0], zeros)
    assert np.isnan(unit[1, 0])

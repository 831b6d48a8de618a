import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit

seeds = st.integers(0, 1000)


def unit_vectors(n, seed):
    return to_unit(np.random.default_rng(seed).standard_normal((n, 8)).astype(np.float32))


def about(vectors):
    """The direction of the mean, from exactly rounded sums of one coordinate at a time."""
    mean = [math.fsum(column) / len(vectors) for column in vectors.T.tolist()]
    return np.array(mean) / math.hypot(*mean)


@given(st.integers(1, 30), st.floats(0, 2), seeds)
def test_each_chunk_gets_the_direction_of_the_mean_as_long_as_the_weight(n, weight, seed):
    own = unit_vectors(n, seed)
    shifted = add_document_context(own, weight)
    expected = own + weight * about(own)
    np.testing.assert_allclose(shifted, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    assert shifted.dtype == np.float32


def test_a_mean_of_zeros_or_rounding_errors_has_no_direction_and_a_longer_one_has():
    for left, moves in ((0, False), (4e-7, False), (4e-6, True)):
        own = np.array([[1, left], [-1, left]])
        assert (add_document_context(own, 0.6) != to_unit(own)).any() == moves
        expected = own + moves * 0.6 * np.array([0, 1])
        np.testing.assert_allclose(add_document_context(own, 0.6), to_unit(expected), atol=1e-6)


def test_small_differences_are_not_rounded_away_in_a_mean_of_many_chunks():
    """In single precision the sum reaches 1000, and 0.00002 added to that is lost."""
    parts = [(0, 1), (1, 2e-5), (-1, 2e-5), (0, -1)]
    own = np.repeat(np.array(parts, np.float32), 1000, axis=0)
    np.testing.assert_allclose(add_document_context(own, 0.6), to_unit(own + np.array([0, 0.6])), atol=1e-3)


@given(st.integers(1, 10), seeds, st.floats(1e-6, 1e6))
def test_unit_vectors_keep_their_direction_and_lose_their_length(n, seed, scale):
    vectors = np.random.default_rng(seed).standard_normal((n, 5)) * scale
    for vector, unit in zip(vectors, to_unit(vectors), strict=True):
        np.testing.assert_allclose(unit, vector / math.hypot(*vector), rtol=1e-9)


def test_zeros_stay_zeros_and_infinity_is_no_direction():
    zeros, infinite = np.zeros(4, np.float32), np.array([np.inf, 1, 0, 0], np.float32)
    unit = to_unit(np.stack([zeros, infinite]))
    np.testing.assert_array_equal(unit[0], zeros)
    assert np.isnan(unit[1, 0])

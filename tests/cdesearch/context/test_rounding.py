import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from cdesearch.context.rounding import from_bits, from_codes, to_bits, to_codes

some_vectors = arrays(
    np.float32, array_shapes(min_dims=2, max_dims=2, max_side=20), elements=st.floats(-2, 2, width=32)
)


@given(some_vectors)
def test_codes_differ_from_the_vector_by_at_most_half_a_scale(vectors):
    codes, scales = to_codes(vectors)
    assert codes.dtype == np.int8 and np.abs(codes.astype(int)).max() <= 127
    error = np.abs(from_codes(codes, scales) - vectors).max(axis=1)
    assert (error <= scales * 0.51 + 1e-37).all()


@given(some_vectors)
def test_bits_keep_every_sign_and_have_the_length_1(vectors):
    bits = to_bits(vectors)
    assert bits.shape == (len(vectors), -(-vectors.shape[1] // 8))
    decoded = from_bits(bits, vectors.shape[1])
    np.testing.assert_array_equal(decoded > 0, vectors > 0)
    np.testing.assert_allclose(np.linalg.norm(decoded, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(to_bits(decoded), bits)


@pytest.mark.parametrize("largest", [1, 3, 40, 126, 127])
def test_whole_numbers_are_kept_whatever_the_length_of_the_vector(largest):
    numbers = np.random.default_rng(largest).integers(-largest, largest, (200, 48), endpoint=True)
    numbers[:, :3] = -largest, 1, largest - 1
    vectors = numbers.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes, scales = to_codes(vectors)
    kept = numbers if largest > 1 else numbers * 127  # signs alone have no other size
    np.testing.assert_array_equal(codes, kept)
    np.testing.assert_allclose(from_codes(codes, scales), vectors, atol=1e-7)


def test_vectors_of_other_numbers_have_the_largest_code():
    vectors = np.random.default_rng(0).normal(size=(500, 48)).astype(np.float32)
    assert (np.abs(to_codes(vectors)[0].astype(int)).max(axis=1) == 127).all()

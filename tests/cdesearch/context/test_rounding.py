import numpy as np
import pytest

from cdesearch.context.rounding import from_codes, to_codes


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

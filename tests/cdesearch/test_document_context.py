import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.document_context import add_document, take_document_out, to_unit


def unit_vectors(n, seed):
    return to_unit(np.random.default_rng(seed).standard_normal((n, 8)).astype(np.float32))


@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 1000))
def test_own_vectors_can_be_had_back(n, weight, seed):
    own = unit_vectors(n, seed)
    np.testing.assert_allclose(take_document_out(add_document(own, weight), weight), own, atol=1e-4)


def test_a_document_of_one_chunk_keeps_its_direction():
    own = unit_vectors(1, 0)
    np.testing.assert_allclose(to_unit(add_document(own, 0.6)), own, atol=1e-6)


def test_chunks_move_towards_what_their_document_is_about():
    own = unit_vectors(5, 0)
    about = to_unit(own.mean(axis=0, keepdims=True))[0]
    assert (to_unit(add_document(own, 0.6)) @ about > own @ about).all()


def test_vectors_that_cancel_out_stay():
    own = np.array([[1, 0], [-1, 0]], np.float32)
    np.testing.assert_array_equal(add_document(own, 0.6), own)

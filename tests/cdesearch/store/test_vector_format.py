import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdesearch.errors import IndexDamagedError
from cdesearch.store.vector_format import KINDS, VectorFormat

ERRORS = {"float32": 0, "float16": 2**-11, "int8": 1 / 253}  # of a component, relative to the largest of its vector

some_vectors = st.integers(1, 40).flatmap(
    lambda d: st.integers(0, 6).flatmap(lambda n: arrays(np.float32, (n, d), elements=st.floats(-2, 2, width=32)))
)


def as_table(stored, vectors):
    return pa.Table.from_arrays(stored.arrays(vectors, [b""] * len(vectors)), schema=pa.schema(stored.fields()))


@pytest.mark.parametrize("kind", KINDS)
@given(vectors=some_vectors)
def test_every_kind_returns_each_vector_to_its_rounding_and_a_missing_one_as_zeros(kind, vectors):
    vectors[np.abs(vectors) < 1e-3] = 0
    stored = VectorFormat(kind, vectors.shape[1])
    decoded = stored.decode(as_table(stored, vectors))
    assert decoded.dtype == np.float32 and decoded.shape == vectors.shape
    np.testing.assert_array_equal(decoded.any(axis=1), vectors.any(axis=1))
    if kind == "binary":
        known = vectors.any(axis=1)
        np.testing.assert_array_equal(decoded[known] > 0, vectors[known] > 0)
        np.testing.assert_allclose(np.linalg.norm(decoded[known], axis=1), 1, rtol=1e-5)
    else:
        most = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
        assert (np.abs(decoded - vectors) <= ERRORS[kind] * most).all()


@pytest.mark.parametrize("kind", KINDS)
@given(vectors=some_vectors, start=st.integers(0, 6))
def test_parts_of_a_table_and_its_batches_are_decoded_alike(kind, vectors, start):
    stored = VectorFormat(kind, vectors.shape[1])
    table = as_table(stored, vectors)
    whole = stored.decode(table)
    np.testing.assert_array_equal(stored.rounded(vectors), whole)
    np.testing.assert_array_equal(stored.decode(table.slice(start)), whole[start:])
    joined = pa.concat_tables([table.slice(start), table.slice(0, start)])
    np.testing.assert_array_equal(stored.decode(joined), np.concatenate([whole[start:], whole[:start]]))
    for batch in table.to_batches():
        np.testing.assert_array_equal(stored.decode(batch), whole)


@pytest.mark.parametrize("kind", KINDS)
@given(vectors=some_vectors)
def test_a_vector_that_was_stored_before_is_stored_alike(kind, vectors):
    vectors[np.abs(vectors) < 1e-3] = 0
    stored = VectorFormat(kind, vectors.shape[1])
    once = stored.rounded(vectors)
    np.testing.assert_allclose(stored.rounded(once), once, rtol=1e-6)


def test_the_size_of_a_vector_is_that_of_its_columns():
    vectors = np.ones((10, 384), np.float32)
    for kind, n_bytes in {"float32": 1536, "float16": 768, "int8": 436, "binary": 48}.items():
        stored = VectorFormat(kind, 384)
        columns = [one for one in stored.arrays(vectors, [b""] * 10) if not pa.types.is_binary(one.type)]
        values = [array.flatten() if pa.types.is_fixed_size_list(array.type) else array for array in columns]
        assert sum(array.nbytes for array in values) == 10 * n_bytes == 10 * stored.n_bytes


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_damage(tmp_path, number):
    stored = VectorFormat("int8", 8)
    codes, _, bits = stored.arrays(np.ones((1, 8), np.float32), [b""])
    table = pa.Table.from_arrays([codes, pa.array([number], pa.float32()), bits], schema=pa.schema(stored.fields()))
    with pytest.raises(IndexDamagedError, match="not numbers"):
        stored.read(table, tmp_path)

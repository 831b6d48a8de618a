import numpy as np
import pytest

from benchmarks.systems.stored import as_stored, check_form
from cdesearch.context.vectors import to_unit
from cdesearch.errors import InputError

random = np.random.default_rng(0)
QUERIES, DOCUMENTS = (to_unit(random.normal(size=(n, 12)).astype(np.float32)) for n in (5, 40))


def cosines(form):
    queries, documents = (to_unit(side) for side in as_stored(QUERIES, DOCUMENTS, form, 4.0))
    return queries @ documents.T


def test_int8_hardly_changes_cosines_and_signs_change_them_most():
    exact = QUERIES @ DOCUMENTS.T
    errors = [np.abs(cosines(form) - exact).max() for form in ("int8", "tanh", "binary documents", "binary")]
    assert errors == sorted(errors) and errors[0] < 0.01 < errors[2]


def test_signs_are_compared_by_how_many_are_equal():
    equal = ((QUERIES[:, None] >= 0) == (DOCUMENTS >= 0)).sum(axis=2)
    np.testing.assert_allclose(cosines("binary"), 2 * equal / 12 - 1, atol=1e-6)


def test_codes_are_those_that_training_compares():
    expected = np.floor(127 * np.tanh(4 * DOCUMENTS.astype(float)) + 0.5)
    np.testing.assert_allclose(as_stored(QUERIES, DOCUMENTS, "tanh", 4.0)[1], expected)


def test_all_axes_keep_every_cosine_and_fewer_keep_most_of_what_the_first_components_do():
    exact = QUERIES @ DOCUMENTS.T
    np.testing.assert_allclose(cosines("axes 12"), exact, atol=1e-5)
    narrow = np.hstack([DOCUMENTS[:, :2], np.zeros((40, 9)), DOCUMENTS[:, 2:3]]).astype(np.float32)
    _, kept = as_stored(QUERIES, narrow, "axes 3", 4.0)
    np.testing.assert_allclose(np.linalg.norm(kept, axis=1), np.linalg.norm(narrow, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(as_stored(QUERIES, narrow, "first 2", 4.0)[1], narrow[:, :2])


@pytest.mark.parametrize("form", ["int4", "first", "axes many", ""])
def test_an_unknown_form_is_named(form):
    with pytest.raises(InputError, match="is not a form of stored vectors"):
        check_form(form)

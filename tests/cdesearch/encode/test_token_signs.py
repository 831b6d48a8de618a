import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.encode.token_signs import N_BYTES, SIGNS, interactions, projection, query_tokens, signs_of

DIMENSION = 48


def random_states(n, seed):
    return np.random.default_rng(seed).standard_normal((1, n, DIMENSION)).astype(np.float32)


def stored(states, weights=None):
    weights = np.ones(states.shape[:2], np.float32) if weights is None else np.array([weights], np.float32)
    return signs_of((states @ projection(DIMENSION))[None], weights[None])[0]


def asked(states, weights=None):
    weights = np.ones(states.shape[:2], np.float32) if weights is None else np.array([weights], np.float32)
    return query_tokens(states @ projection(DIMENSION), weights)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 99))
def test_an_interaction_is_the_mean_of_the_best_cosines_of_each_token(lengths, seed):
    chunks = [random_states(n, seed + place) if n else None for place, n in enumerate(lengths)]
    query = asked(random_states(3, seed + 100), [1, 2, 5])
    found = interactions(query, [b"" if one is None else stored(one) for one in chunks])
    for value, states in zip(found, chunks, strict=True):
        if states is None:
            assert np.isnan(value)
            continue
        signs = np.where(states[0] @ projection(DIMENSION) > 0, 1, -1) / SIGNS**0.5
        best = [max(float(token @ sign) for sign in signs) for token in query.projections]
        assert value == pytest.approx((best[0] + 2 * best[1] + 5 * best[2]) / 8, abs=1e-5)


def test_a_chunk_with_the_same_tokens_is_nearer_than_any_other():
    states = random_states(4, 0)
    found = interactions(asked(states), [stored(random_states(40, seed)) for seed in range(1, 30)] + [stored(states)])
    assert found.argmax() == 29


def test_the_tokens_with_the_highest_weights_are_stored_and_no_padding_and_all_of_equal_ones():
    states = random_states(6, 0)
    assert stored(states, [1, 5, 2, 4, 0, 0]) == stored(states[:, [1, 3]])
    assert len(stored(states)) == 6 * N_BYTES
    assert stored(states, [0] * 6) == b""


def test_a_query_without_tokens_says_nothing():
    assert np.isnan(interactions(asked(random_states(2, 0), [0, 0]), [stored(random_states(3, 1))])).all()


def test_projections_are_the_same_everywhere():
    assert projection(DIMENSION)[:2, :8].tolist() == [[-1, -1, 1, -1, -1, 1, -1, 1], [1, -1, -1, 1, 1, 1, -1, 1]]

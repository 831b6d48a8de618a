import numpy as np
import pytest

from cdesearch.encode.token_signs import N_BYTES, SIGNS, QueryTokens
from cdesearch.search.fusion import Candidates
from cdesearch.search.interaction import COMPARED, WEIGHT, interaction_lifts

SIGN = np.ones((1, SIGNS), np.float32) / SIGNS**0.5  # a token whose projections are all positive
QUERY = QueryTokens(SIGN, np.ones(1, np.float32))
ALIKE, OPPOSITE = b"\xff" * N_BYTES, bytes(N_BYTES)


def candidates(tokens):
    n = len(tokens)
    return Candidates(np.zeros(n), np.zeros(n), np.zeros(3), tokens=tokens, query_tokens=QUERY)


def test_a_chunk_with_a_token_like_that_of_the_query_is_raised_by_half_a_deviation():
    scores = np.array([3.0, 2.0, 1.0])
    lifts = interaction_lifts(scores, candidates([OPPOSITE, b"", OPPOSITE + ALIKE]))
    assert lifts == pytest.approx([-WEIGHT, 0, WEIGHT])


def test_only_the_best_candidates_are_compared():
    scores = -np.arange(COMPARED + 5.0)
    lifts = interaction_lifts(scores, candidates([ALIKE, *[OPPOSITE] * (COMPARED + 4)]))
    assert lifts[0] > 0 > lifts[COMPARED - 1] and not lifts[COMPARED:].any()


@pytest.mark.parametrize(
    ("tokens", "query"), [(None, QUERY), ([ALIKE, OPPOSITE], None), ([b"", b""], QUERY), ([ALIKE, ALIKE], QUERY)]
)
def test_nothing_is_added_where_nothing_can_be_compared(tokens, query):
    found = Candidates(np.zeros(2), np.zeros(2), np.zeros(3), tokens=tokens, query_tokens=query)
    assert not interaction_lifts(np.array([2.0, 1.0]), found).any()

import numpy as np
import pytest

from cdesearch.encode.token_signs import N_BYTES, SIGNS, QueryTokens
from cdesearch.search.fusion import Candidates
from cdesearch.search.ranking import COMPARED, file_lifts, interaction_lifts

SIGN = np.ones((1, SIGNS), np.float32) / SIGNS**0.5  # a token whose projections are all positive
QUERY = QueryTokens(SIGN, np.ones(1, np.float32))
ALIKE, OPPOSITE = b"\xff" * N_BYTES, bytes(N_BYTES)


def lifted(scores, tokens, documents, query=QUERY):
    scores = np.array(scores, float)
    zeros = np.zeros(len(scores))
    found = Candidates(zeros, zeros, np.zeros(3), documents=documents, tokens=tokens, query_tokens=query)
    return (scores + interaction_lifts(scores, found)).tolist()


@pytest.mark.parametrize(
    ("scores", "tokens", "documents", "expected"),
    [
        ([3, 2.5, 1], [OPPOSITE, ALIKE, OPPOSITE], "aab", [2.5, 3, 1]),
        ([3, 2.5, 1], [OPPOSITE, ALIKE, OPPOSITE], "abb", [3, 2.5, 1]),  # no document takes the rank of another
        ([3, 2.5, 2.4, 1], [OPPOSITE + OPPOSITE, b"", OPPOSITE + ALIKE, OPPOSITE], "aaab", [2.4, 2.5, 3, 1]),
    ],
)
def test_chunks_of_a_document_exchange_their_scores_by_their_tokens(scores, tokens, documents, expected):
    assert lifted(scores, tokens, documents) == pytest.approx(expected)


def test_only_the_best_candidates_are_compared():
    n = COMPARED + 1
    scores = [*np.arange(2.0, 1.0, -1 / n)[:n]]
    assert lifted(scores, [OPPOSITE] * COMPARED + [ALIKE], "a" * n) == scores


@pytest.mark.parametrize(
    ("tokens", "query"), [(None, QUERY), ([ALIKE, OPPOSITE], None), ([b"", b""], QUERY), ([ALIKE, ALIKE], QUERY)]
)
def test_nothing_changes_where_nothing_can_be_compared(tokens, query):
    assert lifted([1.0, 2.0], tokens, "aa", query) == [1.0, 2.0]


def test_the_best_chunk_of_each_file_of_the_name_that_is_asked_for_is_first():
    paths = ["notes/changes.rst", "guide/tasks.rst", "guide/tasks.rst", "api/Tasks.rst", "api/my-tasks.rst"]
    scores = np.array([4.0, 1.0, 2.0, 1.5, 3.0])
    lifted = scores + file_lifts("tasks.rst", scores, paths)
    assert [paths[at] for at in np.argsort(-lifted)][:3] == ["guide/tasks.rst", "api/Tasks.rst", "notes/changes.rst"]
    assert not file_lifts("tasks", scores, paths).any()
    lifted = scores + file_lifts("My Tasks", scores, paths)
    assert paths[lifted.argmax()] == "api/my-tasks.rst"

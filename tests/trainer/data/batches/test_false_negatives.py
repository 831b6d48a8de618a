import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainer.data.batches.stream import false_negatives

eighths = st.integers(-16, 16).map(lambda n: n / 8)  # such sums are exact, so ties are exact


@st.composite
def blocks(draw):
    """Scores of some queries in a row, all queries, all documents, eps, and the number of the first query."""
    n_queries = draw(st.integers(1, 6))
    n_documents = n_queries + draw(st.integers(0, 4))
    first = draw(st.integers(0, n_queries - 1))
    rows = draw(st.integers(1, n_queries - first))
    scores = draw(st.lists(st.lists(eighths, min_size=n_documents, max_size=n_documents), min_size=rows, max_size=rows))
    queries = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n_queries, max_size=n_queries))
    documents = draw(st.lists(st.sampled_from(["v", "w", "x", "y"]), min_size=n_documents, max_size=n_documents))
    return np.array(scores, np.float32), queries, documents, draw(st.sampled_from([0.0, 0.25, 0.5])), first


def masked(scores, queries, documents, eps, row, number, j):
    """Whether document j must not count against the query `number`, whose scores are in `row`."""
    own = float(scores[row, number])
    scores_higher = float(scores[row, j]) > own + eps * abs(own)
    same_text = documents[j] == documents[number]
    same_query = j < len(queries) and queries[j] == queries[number]
    return j != number and (scores_higher or same_text or same_query)


@given(blocks())
def test_the_mask_follows_the_definition(block):
    scores, queries, documents, eps, first = block
    mask = false_negatives(scores, queries, documents, eps, first)
    assert mask.dtype == bool and mask.shape == scores.shape
    for row in range(len(scores)):
        expected = [masked(scores, queries, documents, eps, row, first + row, j) for j in range(len(documents))]
        assert mask[row].tolist() == expected

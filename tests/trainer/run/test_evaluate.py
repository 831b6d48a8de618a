import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import nDCG

from trainer.run.evaluate import ndcg_at_10

DOCUMENTS = [f"d{number}" for number in range(14)]


@given(
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.dictionaries(st.sampled_from([*DOCUMENTS, "never found"]), st.integers(0, 3), min_size=1),
)
def test_ndcg_is_that_of_ir_measures(ranking, grades):
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    expected = ir_measures.calc_aggregate([nDCG @ 10], {"q": grades}, run)[nDCG @ 10]
    assert ndcg_at_10(ranking, grades) == pytest.approx(expected, abs=1e-9)


def test_a_query_without_a_relevant_document_counts_zero():
    assert ndcg_at_10(["d1"], {"d1": 0}) == ndcg_at_10(["d1"], {}) == 0

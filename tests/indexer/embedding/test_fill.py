from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from indexer.embedding.fill import unchanged_documents

rows = st.lists(st.tuples(st.integers(0, 9).map(str), st.sampled_from("abc")), unique=True)


@given(rows, rows, st.randoms())
def test_a_document_is_unchanged_if_exactly_its_wanted_chunks_are_present(present, wanted, order):
    def chunks_by_document(found):
        return {document: Counter(chunk for chunk, other in found if other == document) for _, document in found}

    is_present, is_wanted = chunks_by_document(present), chunks_by_document(wanted)
    expected = {document for document, chunks in is_present.items() if is_wanted.get(document) == chunks}
    assert unchanged_documents(present, order.sample(wanted, len(wanted))) == expected
    assert unchanged_documents(present, present) == is_present.keys()

import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer.data.training_batch import Tokens
from trainer.loss.whitening_head import document_frequencies


@given(st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=9), min_size=1, max_size=6))
def test_a_token_counts_once_a_document(rows):
    ids = torch.zeros(len(rows), 9, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = torch.tensor(row), 1
    expected = [sum(token in row for row in rows) for token in range(21)]
    assert document_frequencies(Tokens(ids, mask), 21).tolist() == expected

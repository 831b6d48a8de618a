"""Windows of the chunks of long documents in a batch."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cdesearch.encode.length_batches import join_chunks, split_windows
from trainer.data.training_batch import first_copies, make_windows, padded

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=14)


@settings(deadline=None)
@given(rows, st.integers(4, 20))
def test_windows_are_those_of_the_encoder_for_the_chunks_of_each_document(given_rows, limit):
    """Each row is a chunk: its document, its place there, and its number of tokens. Equal rows are copies."""
    numbers = {document: number for number, document in enumerate(dict.fromkeys(row[0] for row in given_rows))}
    siblings = torch.tensor([numbers[document] for document, _, _ in given_rows])
    ids = [np.full(length, 100 * place + 10 * document + length) for document, place, length in given_rows]
    copies = first_copies([str(row) for row in given_rows], siblings)
    found = make_windows(padded(ids), siblings, [place for _, place, _ in given_rows], copies, limit)

    expected = []
    for number in range(len(numbers)):
        own = [row for row in np.unique(copies) if siblings[row] == number]
        own.sort(key=lambda row: (given_rows[row][1], row))
        windows = split_windows([len(ids[row]) for row in own], limit, 0)
        expected += [[own[at] for at in window] for window in windows]
    assert found.n_chunks == max(map(len, expected)) and len(found.tokens) == len(expected)
    belongs = found.belongs(torch.arange(len(expected)), found.tokens.ids.shape[1], torch.device("cpu"))
    for number, window in enumerate(expected):
        joined, mask = join_chunks([ids[row].tolist() for row in window], None)
        n = len(joined)
        np.testing.assert_array_equal(found.tokens.ids[number, :n], joined)
        np.testing.assert_array_equal(belongs[number, : len(window), :n], mask)
        assert not belongs[number, len(window) :].any() and not belongs[number, :, n:].any()
        assert found.tokens.mask[number].sum() == n
        for at, row in enumerate(window):
            assert found.at[row] == number * found.n_chunks + at
    assert torch.equal(found.at, found.at[torch.from_numpy(copies)]), "a copy has the place of the first"


def test_only_equal_texts_of_one_document_are_copies():
    siblings = torch.tensor([0, 0, 1, 0, 2])
    assert first_copies(["a", "b", "a", "a", "a"], siblings).tolist() == [0, 1, 2, 0, 4]

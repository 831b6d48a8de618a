import numpy as np
import pytest
import torch
from conftest import make_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.batches import token_store
from trainer.data.batches.token_store import store_tokens
from trainer.data.training_batch import padded, tokenize

TEXTS = ["the cat", "", "water " * 50, "moon"]


def unheard(_):
    """Progress that nobody sees."""


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text("abc the.", max_size=30), min_size=1, max_size=8), st.integers(2, 12), st.data())
def test_stored_tokens_are_those_of_the_tokenizer(tmp_path_factory, texts, limit, data):
    tokenizer = make_tokenizer()
    store = store_tokens(tmp_path_factory.mktemp("tokens") / "d", texts, tokenizer, "the ", limit, unheard)
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=6))
    expected = tokenize(tokenizer, [texts[row] for row in rows], "the ", limit)
    found = padded(store.take(rows).rows())
    torch.testing.assert_close(found.ids, expected.ids)
    torch.testing.assert_close(found.mask, expected.mask)
    assert len(store) == len(texts) and found.mask.sum(1).max() <= limit


def test_tokens_are_made_once(tmp_path, monkeypatch):
    first = store_tokens(tmp_path / "d", TEXTS, make_tokenizer(), "", 8, unheard)
    monkeypatch.delattr(token_store, "token_rows")
    again = store_tokens(tmp_path / "d", TEXTS, make_tokenizer(), "", 8, unheard)
    assert isinstance(again.ids, np.memmap)
    assert [row.tolist() for row in again.rows()] == [row.tolist() for row in first.rows()]


@pytest.mark.parametrize("change", [{"prefix": "a"}, {"limit": 9}, {"texts": [*TEXTS[:-1], "sun"]}])
def test_other_texts_prefixes_and_limits_have_tokens_of_their_own(tmp_path, change):
    arguments = {"texts": TEXTS, "tokenizer": make_tokenizer(), "prefix": "", "limit": 8, "advance": unheard}
    first = store_tokens(tmp_path / "d", **arguments)
    other = store_tokens(tmp_path / "d", **arguments | change)
    assert [row.tolist() for row in other.rows()] != [row.tolist() for row in first.rows()]


def test_a_write_that_was_stopped_is_repeated(tmp_path):
    store_tokens(tmp_path / "d", TEXTS, make_tokenizer(), "", 8, unheard)
    (ends,) = tmp_path.glob("*.ends.npy")
    (ids,) = tmp_path.glob("*.ids.npy")
    ends.unlink()
    ids.write_bytes(b"half")
    (moon,) = store_tokens(tmp_path / "d", TEXTS, make_tokenizer(), "", 8, unheard).take([3]).rows()
    assert moon.tolist() == make_tokenizer().encode("moon").ids


def test_no_texts_have_no_tokens(tmp_path):
    for _ in range(2):
        assert store_tokens(tmp_path / "d", [], make_tokenizer(), "", 8, unheard).rows() == []

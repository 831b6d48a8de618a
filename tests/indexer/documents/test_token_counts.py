import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from cdesearch.encode.load import default_tokenizer
from indexer.documents.chunk import TokenCounts

TEXTS = [
    "",
    " \n\t ",
    "The cat, the CAT and the caf\u00e9; caf\u0065\u0301 \u0301alone",
    "[CLS] [MASK]x [SEP]\u00a0[PAD]  [UNK ] [ MASK]",
    "tabs\tand\r\nlines\x0band\x1ccontrols\u200b\u2028\u3000\ufeff",
    "\u6771\u4eac\u90fd\u306e\u5929\u6c17 \u4e2d\u6587abc \U0001f600\U0001f600",
    "def f(x): return os.path.join(x, '-->' * 3) " * 3,
    "a" * 101 + " " + "b" * 20_000 + " -" * 500,
]


def bpe():
    tokenizer = Tokenizer(models.BPE({"a": 0, " ": 1, "a ": 2, " a": 3}, [("a", " ")], unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(".", "isolated")
    return tokenizer


@pytest.mark.parametrize("make", [default_tokenizer, bpe])
def test_the_words_of_a_text_have_as_many_tokens_as_the_text(make):
    tokenizer = make()
    counts = TokenCounts(tokenizer)
    expected = [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(TEXTS)]
    assert all(counts.at_most(text) >= count for text, count in zip(TEXTS, expected, strict=True))
    assert [counts.of(TEXTS), [count for text in TEXTS for count in counts.of([text])]] == [expected, expected]

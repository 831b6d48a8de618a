import numpy as np
import pytest
from random_texts import masking_tokenizer, vocabulary
from tokenizers.processors import TemplateProcessing

from cdesearch.errors import InputError
from trainer.pretraining.texts import MASK_SHARE, Vocabulary, choose_words, corrupt

TEXT = "the cat abc moon dogs x river stone light bread engine water"


def framed(text=TEXT):
    return np.array(masking_tokenizer().encode(text).ids)


@pytest.mark.parametrize("seed", range(20))
def test_whole_words_are_chosen_up_to_the_share_and_special_tokens_never(seed):
    ids, known = framed(), vocabulary()
    chosen = choose_words(ids, known, np.random.default_rng(seed))
    assert not chosen[0] and not chosen[-1]
    assert 1 <= chosen.sum() <= max(3, round(MASK_SHARE * (len(ids) - 2)))
    continues = known.continues[ids]
    assert all(chosen[place] == chosen[place - 1] for place in np.flatnonzero(continues))


def test_a_word_that_exceeds_the_share_is_chosen_if_it_is_alone():
    ids = framed("abcdef")
    assert choose_words(ids, vocabulary(), np.random.default_rng(0)).tolist() == [False, *[True] * 6, False]


def test_of_chosen_tokens_eight_in_ten_are_masked_one_is_another_and_one_is_kept():
    known = vocabulary()
    ids = np.full(40_000, masking_tokenizer().token_to_id("cat"))
    chosen = np.arange(len(ids)) % 2 == 0
    read = corrupt(ids, chosen, known, np.random.default_rng(0))
    assert (read[~chosen] == ids[0]).all()
    assert np.mean(read[chosen] == known.mask) == pytest.approx(0.8, abs=0.01)
    others = read[chosen][(read[chosen] != known.mask) & (read[chosen] != ids[0])]
    assert len(others) / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert set(others) <= set(known.ordinary) and len(set(others)) > 50


def test_a_tokenizer_without_the_mask_token_is_refused_in_one_line():
    with pytest.raises(InputError, match=r"no token \[OTHER\]"):
        Vocabulary.of(masking_tokenizer(), 160, "[OTHER]")


@pytest.mark.parametrize("template", ["$A", "[CLS] $A", "$A [SEP]", "[CLS] $A [SEP]", "[CLS] [SEP] $A [SEP]"])
def test_a_framed_text_has_the_tokens_that_the_tokenizer_gives_it(template):
    tokenizer = masking_tokenizer()
    special = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=special)
    vocabulary = Vocabulary.of(tokenizer, tokenizer.get_vocab_size(), "[MASK]")
    for text in ("cat", "the cat and the dog"):
        own = np.array(tokenizer.encode(text, add_special_tokens=False).ids)
        assert vocabulary.framed(own).tolist() == tokenizer.encode(text).ids

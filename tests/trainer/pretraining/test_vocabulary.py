"""The special tokens around a text."""

import numpy as np
import pytest
from random_texts import masking_tokenizer
from tokenizers.processors import TemplateProcessing

from trainer.pretraining.vocabulary import Vocabulary


@pytest.mark.parametrize("template", ["$A", "[CLS] $A", "$A [SEP]", "[CLS] $A [SEP]", "[CLS] [SEP] $A [SEP]"])
def test_a_framed_text_has_the_tokens_that_the_tokenizer_gives_it(template):
    tokenizer = masking_tokenizer()
    special = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=special)
    vocabulary = Vocabulary.of(tokenizer, tokenizer.get_vocab_size(), None)
    for text in ("cat", "the cat and the dog"):
        own = np.array(tokenizer.encode(text, add_special_tokens=False).ids)
        assert vocabulary.framed(own).tolist() == tokenizer.encode(text).ids

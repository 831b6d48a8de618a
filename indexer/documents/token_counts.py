"""How many tokens texts have, counted by their words, because most words of a corpus come again and again."""

import re
from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

MOST_WORDS, LONGEST = 100_000, 100  # that are remembered, and characters of each
_WORD = re.compile(r"[^ \t\n\r]+")


class TokenCounts:
    """Counts the tokens of texts, with special tokens, as a tokenizer does.

    One of BERT divides texts at blanks, whatever is around them. With others, whole texts are tokenized.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        parts = isinstance(tokenizer.normalizer, BertNormalizer), isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        added = tokenizer.get_added_tokens_decoder().values()
        self._is_by_word = all(parts) and all(_WORD.fullmatch(token.content) for token in added)
        self._n_special = tokenizer.num_special_tokens_to_add(is_pair=False)
        self._of_word: dict[str, int] = {}

    def of(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        if not self._is_by_word:
            return [len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        return [self._n_special + self._by_word(_WORD.findall(text)) for text in texts]

    def _by_word(self, words: Sequence[str]) -> int:
        known = self._of_word
        if len(known) > MOST_WORDS:
            known.clear()
        fresh = list({word for word in words if word not in known})
        if fresh:
            encodings = self._tokenizer.encode_batch_fast(fresh, add_special_tokens=False)
            known.update((word, len(encoding.ids)) for word, encoding in zip(fresh, encodings, strict=True))
        count = sum(map(known.__getitem__, words))
        for word in fresh:
            if len(word) > LONGEST:
                del known[word]
        return count

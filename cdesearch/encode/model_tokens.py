"""The tokens of texts as a model reads them: its special tokens, its vocabulary, and the room beside its prefixes."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.encode.tokenizer_limits import reporting_failure
from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN
from cdesearch.models.config import MIN_TEXT_TOKENS, ModelConfig


class ModelTokens:
    """The tokenizer of a model; raises ModelError if a prefix leaves no room for a text."""

    def __init__(self, tokenizer: Tokenizer, config: ModelConfig) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = config.backbone.vocabulary
        limit = min(config.max_tokens, config.span_tokens or config.max_tokens)
        if max(map(self.count, (config.document_prefix, config.query_prefix))) + MIN_TEXT_TOKENS > limit:
            raise ModelError(f"The model's prefixes leave no room for texts in {limit} tokens.", AGAIN)

    def count(self, prefix: str) -> int:
        """The number of tokens of a prefix, without special tokens."""
        return len(self._tokenizer.encode(prefix, add_special_tokens=False).ids)

    @cached_property
    def special(self) -> tuple[int, int]:
        """How many special tokens the tokenizer puts before and after a text."""
        whole, bare = (self._tokenizer.encode("a", add_special_tokens=added).ids for added in (True, False))
        opening = next((n for n in range(len(whole)) if whole[n : n + len(bare)] == bare), 0)
        return opening, len(whole) - len(bare) - opening

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of every text; raises ModelError for an id outside the model's vocabulary."""
        with reporting_failure("The model's tokenizer fails"):
            found = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        highest = max((max(ids, default=0) for ids in found), default=0)
        if highest >= self._vocabulary:
            raise ModelError(
                f"The model's tokenizer belongs to another model: it makes token {highest}, and the model has only"
                f" {self._vocabulary} tokens.",
                AGAIN,
            )
        return found

    def frequencies(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""
        counts = np.zeros(self._vocabulary, np.int64)
        for ids in self.ids(texts):
            counts[np.unique(ids)] += 1
        return TokenFrequencies(counts, len(texts))

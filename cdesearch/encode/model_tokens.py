"""The tokens of texts as a model reads them: its prefixes, special tokens and vocabulary, and batches of its limits."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.head import Role
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.encode.length_batches import BatchLimits, Ids, TextBatch, make_batches, truncated
from cdesearch.encode.runtime import Runtime
from cdesearch.errors import ModelError, is_panic
from cdesearch.models.checkpoint_files import AGAIN
from cdesearch.models.config import MIN_TEXT_TOKENS, ModelConfig


@contextmanager
def reporting_failure(cause: str) -> Iterator[None]:
    """Replace any error of the tokenizers library, which raises bare Exception and panics, by a ModelError."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise ModelError(f"{cause} ({error!s:.200}).", AGAIN) from None


class ModelTokens:
    """The tokenizer of a model; raises ModelError if a prefix leaves no room for a text."""

    def __init__(self, tokenizer: Tokenizer, config: ModelConfig) -> None:
        self.tokenizer = tokenizer
        self._config = config
        self._vocabulary = config.backbone.vocabulary
        limit = min(config.max_tokens, config.span_tokens or config.max_tokens)
        if max(map(self.count, (config.document_prefix, config.query_prefix))) + MIN_TEXT_TOKENS > limit:
            raise ModelError(f"The model's prefixes leave no room for texts in {limit} tokens.", AGAIN)

    def prefix(self, role: Role) -> str:
        return self._config.query_prefix if role == "query" else self._config.document_prefix

    def count(self, prefix: str) -> int:
        """The number of tokens of a prefix, without special tokens."""
        return len(self.tokenizer.encode(prefix, add_special_tokens=False).ids)

    @cached_property
    def special(self) -> tuple[int, int]:
        """How many special tokens the tokenizer puts before and after a text."""
        whole, bare = (self.tokenizer.encode("a", add_special_tokens=added).ids for added in (True, False))
        opening = next((n for n in range(len(whole)) if whole[n : n + len(bare)] == bare), 0)
        return opening, len(whole) - len(bare) - opening

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of every text; raises ModelError for an id outside the model's vocabulary."""
        with reporting_failure("The model's tokenizer fails"):
            found = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        highest = max((max(ids, default=0) for ids in found), default=0)
        if highest >= self._vocabulary:
            raise ModelError(
                f"The model's tokenizer belongs to another model: it makes token {highest}, and the model has only"
                f" {self._vocabulary} tokens.",
                AGAIN,
            )
        return found

    def chunk_ids(self, chunks: Sequence[str]) -> list[Ids]:
        """Token ids of chunks of documents, with the prefix, truncated as the model does."""
        found = self.ids([self._config.document_prefix + chunk for chunk in chunks])
        return [truncated(ids, self._config.max_tokens, self.special[1]) for ids in found]

    def batches(
        self, ids: Sequence[Ids], prefix: str, runtime: Runtime, prefix_rows: int = 0, *, alone: bool = False
    ) -> list[TextBatch]:
        """Batches for a runtime of texts that begin with `prefix`; with `alone`, each text is a batch of its own."""
        n_tokens = 0 if alone else runtime.tokens_per_batch
        opening, closing = self.special
        limits = BatchLimits(
            self._config.max_tokens, self._config.span_tokens, n_tokens, runtime.pads, prefix_rows, closing
        )
        return make_batches(ids, opening + self.count(prefix), limits)

    def frequencies(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""
        counts = np.zeros(self._vocabulary, np.int64)
        for ids in self.ids(texts):
            counts[np.unique(ids)] += 1
        return TokenFrequencies(counts, len(texts))

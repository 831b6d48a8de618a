"""The spans of one step: pieces of documents, with the tokens that are masked in them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.data.random_stream import random_stream
from trainer.data.training_batch import Tokens, padded
from trainer.pretraining.token_documents import Rows, TokenDocuments
from trainer.pretraining.vocabulary import Vocabulary
from trainer.pretraining.whole_words import choose_words, corrupt


@dataclass(frozen=True, slots=True)
class Spans:
    """N spans as the network reads them. With two spans a document, 2i and 2i + 1 are those of one document."""

    tokens: Tokens  # with masked tokens
    ids: Tensor  # (N, T) the tokens themselves
    chosen: Tensor  # (N, T) true where the token has to be predicted


@dataclass(frozen=True, slots=True)
class SpanSampler:
    """Draws spans of documents. The spans of any step follow from the seed and the step alone."""

    documents: TokenDocuments
    rows: Rows  # the documents to draw from, at least one
    vocabulary: Vocabulary
    max_tokens: int  # of a span, special tokens included
    mask_share: float
    per_document: int  # 1 or 2 spans
    seed: int

    def of_step(self, step: int, size: int) -> Spans:
        """The spans of `size` different documents, or of all if there are fewer. Every epoch has another order."""
        size = min(size, len(self.rows))
        epoch, place = divmod(step, len(self.rows) // size)
        order = random_stream(self.seed, "order of documents", epoch).permutation(self.rows)
        random = random_stream(self.seed, "spans", step)
        return self._masked(order[place * size : (place + 1) * size], random)

    def of_all(self, limit: int) -> Spans:
        """Spans of the first documents, at most `limit`, the same in every call."""
        return self._masked(self.rows[:limit], random_stream(self.seed, "spans of held-out documents"))

    def _masked(self, documents: Rows, random: np.random.Generator) -> Spans:
        framed = [
            self.vocabulary.framed(ids)
            for document in documents
            for ids in self._drawn([one.astype(np.int64) for one in self.documents.passages_of(int(document))], random)
        ]
        chosen = [choose_words(ids, self.vocabulary, self.mask_share, random) for ids in framed]
        pairs = zip(framed, chosen, strict=True)
        read = padded([corrupt(ids, some, self.vocabulary, random) for ids, some in pairs])
        return Spans(read, padded(framed).ids, padded(chosen).ids.to(torch.bool))

    def _drawn(self, passages: list[NDArray[np.int64]], random: np.random.Generator) -> list[NDArray[np.int64]]:
        """One span, or two: of two passages of the document, or of both halves of its only one."""
        if self.per_document == 1:
            drawn = [passages[random.integers(len(passages))]]
        elif len(passages) == 1:
            middle = len(passages[0]) // 2
            drawn = [passages[0][:middle], passages[0][middle:]]
        else:
            drawn = [passages[row] for row in random.choice(len(passages), 2, replace=False)]
        return [self._window(ids, random) for ids in drawn]

    def _window(self, ids: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        length = self.max_tokens - self.vocabulary.n_special
        start = int(random.integers(max(1, len(ids) - length + 1)))
        return ids[start : start + length]

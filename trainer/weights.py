"""Pooling weights of tokens while training: a batch's documents are the corpus whose frequencies count."""

from collections.abc import Callable

import torch
from torch import Tensor

from trainer.batch import Batch
from trainer.statistics_head import StatisticsHead


class TokenWeights:
    """Makes the (V,) table that idf pooling reads."""

    def __init__(self, vocabulary: int, special: list[int], device: torch.device) -> None:
        self._vocabulary = vocabulary
        self._special = torch.tensor(sorted(special), device=device)
        self._device = device

    def of(self, batch: Batch, head: StatisticsHead) -> Callable[[], Tensor]:
        """Makes the table anew from the head, by the document frequencies in the batch; equal without context."""
        if not batch.is_contextual:
            return self.equal
        documents = batch.documents
        there = torch.zeros(len(documents), self._vocabulary, dtype=torch.bool)
        there.scatter_(1, documents.ids, documents.mask.bool())
        counts = there.sum(0).to(self._device, torch.float32)
        counts[0] = 0  # padding
        return lambda: head.token_weights(counts, len(documents), self._special)

    def equal(self) -> Tensor:
        """The plain mean."""
        return torch.ones(self._vocabulary, device=self._device)

"""Pooling weights of tokens in training, from document frequencies in the batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from trainer.data.training_batch import Batch, Tokens, sent
from trainer.loss.whitening_head import WhiteningHead


def document_frequencies(documents: Tokens, vocabulary: int) -> Tensor:
    """(V,) the number of documents that contain each token; 0 for padding."""
    ids = documents.ids.masked_fill(documents.mask == 0, 0).sort(1).values
    is_first = torch.ones_like(ids, dtype=torch.bool)
    is_first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return torch.bincount(ids[is_first & (ids > 0)], minlength=vocabulary)


class TokenWeights:
    """Computes the table (V,) of the weights for idf pooling."""

    def __init__(self, vocabulary: int, special: list[int], device: torch.device) -> None:
        self._vocabulary = vocabulary
        self._special = torch.tensor(sorted(special), device=device)
        self._device = device

    def of(self, batch: Batch, head: WhiteningHead) -> Callable[[], Tensor]:
        """A function that computes the table from the head and the batch; without context all weights are equal."""
        if not batch.is_contextual:
            return self.equal
        documents = batch.documents
        counts = sent(document_frequencies(documents, self._vocabulary).float(), self._device)
        return lambda: head.token_weights(counts, len(documents), self._special)

    def equal(self) -> Tensor:
        """Equal weights (V,), for the plain mean."""
        return torch.ones(self._vocabulary, device=self._device)

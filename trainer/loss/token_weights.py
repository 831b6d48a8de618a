"""Pooling weights of tokens in training, from document frequencies in the batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from cdesearch.context.features import corpus_features
from trainer.data.training_batch import Batch, Tokens, sent
from trainer.loss.whitening_head import WhiteningHead


def document_frequencies(documents: Tokens, vocabulary: int) -> Tensor:
    """(V,) the number of documents that contain each token; 0 for padding."""
    ids = documents.ids.masked_fill(documents.mask == 0, 0).sort(1).values
    is_first = torch.ones_like(ids, dtype=torch.bool)
    is_first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return torch.bincount(ids[is_first & (ids > 0)], minlength=vocabulary)


def context_frequencies(batch: Batch, vocabulary: int) -> Tensor:
    """(V,) the number of documents of the batch and of its context that contain each token."""
    counts = document_frequencies(batch.documents, vocabulary)
    if batch.context_tokens is not None:
        counts = counts + document_frequencies(batch.context_tokens, vocabulary)
    return counts


def features_of(vectors: Tensor, frequencies: Tensor) -> Tensor:
    """(1, F) the statistics of a corpus, from first-stage vectors (J, d) and document frequencies (V,)."""
    features = corpus_features(vectors.detach().float().cpu().numpy(), frequencies.cpu().numpy())
    return torch.from_numpy(features)[None].to(vectors.device)


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

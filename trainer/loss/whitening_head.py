"""Corpus statistics in training, where the batch is the corpus: the whitening, and the weights of tokens.

The four numbers of the whitening are parameters.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.config import StatisticsConfig
from trainer.data.training_batch import Batch, Tokens, sent


class WhiteningHead(nn.Module):
    """`Whitening` with gradients to shift, ridge, power and idf exponent; the statistics are detached."""

    def __init__(self, config: StatisticsConfig) -> None:
        super().__init__()
        self._config = config
        self.shift = nn.Parameter(torch.tensor(config.shift))
        self.log_ridge = nn.Parameter(torch.tensor(config.ridge).log())
        self.power = nn.Parameter(torch.tensor(config.power))
        self.idf_exponent = nn.Parameter(torch.tensor(config.idf_exponent))

    def config(self) -> StatisticsConfig:
        return replace(
            self._config,
            shift=self.shift.item(),
            ridge=self.log_ridge.exp().item(),
            power=self.power.item(),
            idf_exponent=self.idf_exponent.item(),
        )

    def numbers(self) -> dict[str, float]:
        """The learned numbers, rounded for a log."""
        config = self.config()
        return {name: round(getattr(config, name), 4) for name in ("shift", "ridge", "power", "idf_exponent")}

    def token_weights(self, counts: Tensor, n_texts: int, special: Tensor) -> Tensor:
        """(V,) pooling weights from document frequencies (V,); `special` (S,) tokens take the median."""
        idf = torch.log1p((n_texts - counts + 0.5) / (counts + 0.5))
        weights = (idf + 0.5) ** self.idf_exponent
        occurring = counts > 0
        occurring[special] = False
        # If no token occurs, `weights` stay unchanged. An `if` would make the host wait for the device.
        median = weights.where(occurring, torch.nan).nanquantile(0.5)
        filled = weights.index_fill(0, special, 0.0).index_add(0, special, median.expand(len(special)))
        return filled.where(occurring.any(), weights)

    def fitted(self, context: Tensor) -> Callable[[Tensor], Tensor]:
        """A function from pooled (n, d) to unit vectors (n, d), whitened by the statistics of a pooled context (J, d).

        On a GPU the host waits here for the eigenvectors: `eigh` reads from the device whether it converged. A step
        therefore calls this once, for queries and documents together.
        """
        points = functional.normalize(context.detach().double(), dim=-1)
        mean = points.mean(0)
        eigenvalues, axes = torch.linalg.eigh(torch.cov(points.T, correction=0))
        eigenvalues = eigenvalues.clamp_min(0)
        scale = eigenvalues + self.log_ridge.exp() * eigenvalues.mean().clamp_min(1e-12)
        projection = (axes * (scale / scale.mean()) ** -self.power) @ axes.T
        shift, projection = (self.shift * mean).float(), projection.float()

        def whitened(pooled: Tensor) -> Tensor:
            return functional.normalize((functional.normalize(pooled.float(), dim=-1) - shift) @ projection, dim=-1)

        return whitened


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
        return torch.ones(self._vocabulary, device=self._device)

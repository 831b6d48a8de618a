"""The heads in training, with gradients to their parameters: whitening, weights of tokens, and the context head.

In the first two, the batch is the corpus, whose statistics are computed. The context head is that of
`cdesearch.context.head`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.context.head import ENOUGH, MEAN_SCALE, NEAREST, SAME, SINK_COSINE, Role
from cdesearch.models.config import HeadConfig, HeadSideConfig, StatisticsConfig
from trainer.data.training_batch import Batch, Tokens, sent

DIGITS = 6  # of the parameters in config.json
START_SHARPNESS = 2.3  # logarithm: a factor of 10
FEATURES, HIDDEN = 4, 8


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


class _Side(nn.Module):
    """The parameters for queries or documents. The gates are zero at first, so that vectors are unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.log_sharpness = nn.Parameter(torch.tensor(START_SHARPNESS))
        self.sink = nn.Parameter(torch.tensor(0.0))
        self.hidden = nn.Linear(FEATURES, HIDDEN)
        self.gates = nn.Linear(HIDDEN, 2)
        nn.init.zeros_(self.gates.weight)
        nn.init.zeros_(self.gates.bias)

    def forward(self, vectors: Tensor, context: Tensor) -> Tensor:
        cosines = vectors @ context.T
        same = cosines > SAME
        sharpness = self.log_sharpness.exp()
        # Masked after the product, because the gradient of a factor of infinity is not a number.
        logits = (sharpness * cosines).masked_fill(same, -torch.inf)
        sink = (sharpness * SINK_COSINE + self.sink).expand(len(vectors), 1)
        weights = torch.cat([logits, sink], dim=1).softmax(dim=1)[:, :-1]
        seen = cosines.masked_fill(same, -1)
        nearest = seen.topk(min(NEAREST, seen.shape[1]), dim=1).values
        features = [nearest[:, 0], nearest.mean(dim=1), weights.sum(dim=1), MEAN_SCALE * seen.mean(dim=1)]
        gates = self.gates(functional.gelu(self.hidden(torch.stack(features, dim=1)), approximate="tanh"))
        gates = gates * min(1.0, len(context) / ENOUGH)
        changed = vectors + gates[:, :1] * (weights @ context) + gates[:, 1:] * context.mean(dim=0)
        return functional.normalize(changed, dim=1)

    def config(self) -> HeadSideConfig:
        layers = (torch.cat([layer.weight, layer.bias[:, None]], 1).tolist() for layer in (self.hidden, self.gates))
        hidden, gates = (tuple(tuple(round(one, DIGITS) for one in row) for row in rows) for rows in layers)
        sharpness, sink = (round(one.item(), DIGITS) for one in (self.log_sharpness, self.sink))
        return HeadSideConfig(sharpness, sink, hidden, gates)


class TrainedHead(nn.Module):
    """A context head whose parameters have gradients. It changes nothing at first."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.document = _Side(), _Side()

    def forward(self, vectors: Tensor, context: Tensor, role: Role) -> Tensor:
        """(n, d) unit vectors in a context (J, d), from whitened unit vectors (n, d)."""
        changed: Tensor = (self.query if role == "query" else self.document)(vectors, context)
        return changed

    def config(self) -> HeadConfig:
        return HeadConfig(self.query.config(), self.document.config())

    def shared(self, share: float) -> Self:
        """The head with `share` of its gates: the mean of this one and one that changes nothing."""
        head = deepcopy(self)
        with torch.no_grad():
            for parameter in (*head.query.gates.parameters(), *head.document.gates.parameters()):
                parameter.mul_(share)
        return head

"""The context head in training: `cdesearch.context.head` with gradients to its parameters."""

from copy import deepcopy
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.context.head import ENOUGH, MEAN_SCALE, NEAREST, SAME, SINK_COSINE, Role
from cdesearch.models.config import HeadConfig, HeadSideConfig

DIGITS = 6  # of the parameters in config.json
START_SHARPNESS = 2.3  # logarithm: a factor of 10
FEATURES, HIDDEN = 4, 8


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
        numbers = [_rounded(torch.cat([layer.weight, layer.bias[:, None]], 1)) for layer in (self.hidden, self.gates)]
        return HeadSideConfig(
            round(self.log_sharpness.item(), DIGITS), round(self.sink.item(), DIGITS), numbers[0], numbers[1]
        )


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


def _rounded(numbers: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(number, DIGITS) for number in row) for row in numbers.tolist())

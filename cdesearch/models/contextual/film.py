"""Scale and shift of every layer from the statistics of a corpus (FiLM, arXiv 1709.07871), folded into its layer norm.

Folded once a corpus, they cost nothing when a text is encoded.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = 64


class CorpusFilm(nn.Module):
    """Features of a corpus to a scale and a shift of each layer's output; zero at the start."""

    def __init__(self, n_features: int, n_layers: int, dimension: int) -> None:
        super().__init__()
        self._shape = (n_layers, 2, dimension)
        self.inner = nn.Linear(n_features, HIDDEN)
        self.outer = nn.Linear(HIDDEN, n_layers * 2 * dimension)
        for parameter in self.gates:
            nn.init.zeros_(parameter)

    @property
    def gates(self) -> list[nn.Parameter]:
        """The parameters that are all zero when a corpus changes nothing."""
        return list(self.outer.parameters())

    def forward(self, features: Tensor) -> Tensor:
        """(n_layers, 2, d) scale and shift: the output y of a layer becomes y * (1 + scale) + shift."""
        scales: Tensor = self.outer(functional.gelu(self.inner(features)))
        return scales.view(self._shape)


def fold(film: Tensor, norms: list[nn.LayerNorm]) -> Tensor:
    """(n_layers, 2, d) weight and bias of the layer norms with a scale and shift (n_layers, 2, d) of their output."""
    weights, biases = torch.stack([norm.weight for norm in norms]), torch.stack([norm.bias for norm in norms])
    scale, shift = 1 + film[:, 0], film[:, 1]
    return torch.stack([weights * scale, biases * scale + shift], dim=1)

"""Scale and shift of every layer from the statistics of a corpus (FiLM, arXiv 1709.07871), folded into its layer norm.

They are folded once for each corpus, so that encoding a text takes no longer.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = 64


class CorpusFilm(nn.Module):
    """Computes a scale and a shift of each layer's output from the features of a corpus; both are zero at the start."""

    def __init__(self, n_features: int, n_layers: int, dimension: int) -> None:
        super().__init__()
        self._shape = (n_layers, 2, dimension)
        self.inner = nn.Linear(n_features, HIDDEN)
        self.outer = nn.Linear(HIDDEN, n_layers * 2 * dimension)
        for parameter in self.gates:
            nn.init.zeros_(parameter)

    @property
    def gates(self) -> list[nn.Parameter]:
        """The parameters that are all zero if the corpus has no effect."""
        return list(self.outer.parameters())

    def forward(self, features: Tensor) -> Tensor:
        """(n_layers, 2, d) scale and shift from features (F,): a layer's output y becomes y * (1 + scale) + shift."""
        scales: Tensor = self.outer(functional.gelu(self.inner(features)))
        return scales.view(self._shape)


def fold(film: Tensor, norms: list[nn.LayerNorm]) -> Tensor:
    """(n_layers, 2, d) weight and bias of layer norms that include the scale and shift `film` (n_layers, 2, d)."""
    weights, biases = torch.stack([norm.weight for norm in norms]), torch.stack([norm.bias for norm in norms])
    scale, shift = 1 + film[:, 0], film[:, 1]
    return torch.stack([weights * scale, biases * scale + shift], dim=1)

"""Predicting masked tokens from their states, with the token embeddings of the network as the last matrix (BERT)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

DEVIATION = 0.02  # of new weights, as in BERT

# Names of the decoder's tensors in published checkpoints.
_PUBLISHED = {
    "transform.weight": "cls.predictions.transform.dense.weight",
    "transform.bias": "cls.predictions.transform.dense.bias",
    "norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}


class MaskedTokenDecoder(nn.Module):
    """States (m, d) to logits (m, V). The embeddings of the tokens belong to the network and are passed in."""

    def __init__(self, dimension: int, vocabulary: int, norm_eps: float) -> None:
        super().__init__()
        self.transform = nn.Linear(dimension, dimension)
        nn.init.normal_(self.transform.weight, std=DEVIATION)
        nn.init.zeros_(self.transform.bias)
        self.norm = nn.LayerNorm(dimension, norm_eps)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        """(m, V) logits from states (m, d) and the embeddings (V, d) of all tokens."""
        rows = self.norm(functional.gelu(self.transform(states)))
        return functional.linear(rows, tokens, self.bias).float()


def published_decoder(state: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]) -> dict[str, Tensor] | None:
    """The tensors of a decoder with these `shapes` in a published state dict; None if it has none that fits."""
    found = {name: state[published] for name, published in _PUBLISHED.items() if published in state}
    fits = found.keys() == shapes.keys() and all(found[name].shape == shape for name, shape in shapes.items())
    return {name: tensor.float() for name, tensor in found.items()} if fits else None

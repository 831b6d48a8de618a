"""Condenser: a head that predicts masked tokens from early states of the tokens and the vector of the whole text.

The late layers influence the head through the vector alone, so they learn to put into it what the early states lack
(Gao & Callan, 2021). The head is only used in pretraining. coCondenser adds a contrast of spans (Gao & Callan, 2022).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool
from cdesearch.models.config import BackboneConfig

HEAD_LAYERS = 2
DEVIATION = 0.02  # of new weights, as in BERT
# Names of the decoder's tensors in published checkpoints.
PUBLISHED = {
    "transform.weight": "cls.predictions.transform.dense.weight",
    "transform.bias": "cls.predictions.transform.dense.bias",
    "norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}


class MaskedTokenDecoder(nn.Module):
    """States (m, d) to logits (m, V), with the token embeddings of the network as the last matrix (BERT)."""

    def __init__(self, dimension: int, vocabulary: int, norm_eps: float) -> None:
        super().__init__()
        self.transform = nn.Linear(dimension, dimension)
        self.norm = nn.LayerNorm(dimension, norm_eps)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        """(m, V) logits from states (m, d) and the embeddings (V, d) of all tokens, which belong to the network."""
        rows = self.norm(functional.gelu(self.transform(states)))
        return functional.linear(rows, tokens, self.bias).float()


class CondenserHead(nn.Module):
    """New layers, and the decoder of masked tokens, which the late layers share with them."""

    def __init__(self, config: BackboneConfig, published: Mapping[str, Tensor] | None = None) -> None:
        """The decoder is that of a `published` checkpoint, if it has one."""
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(HEAD_LAYERS))
        self.decoder = MaskedTokenDecoder(config.dimension, config.vocabulary, config.norm_eps)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=DEVIATION)
                nn.init.zeros_(module.bias)
        found = {name: (published or {}).get(other) for name, other in PUBLISHED.items()}
        shapes = {name: tensor.shape for name, tensor in self.decoder.state_dict().items()}
        if all(tensor is not None and tensor.shape == shapes[name] for name, tensor in found.items()):
            self.decoder.load_state_dict(found)


class States(NamedTuple):
    """The vectors (B, d) of texts, and the states (B, T, d) of their tokens after the last and the early layers."""

    vectors: Tensor
    late: Tensor
    early: Tensor


class Condenser(nn.Module):
    """A backbone with its head, which takes the states of the tokens after half of the layers."""

    def __init__(self, backbone: Backbone, head: CondenserHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def states(self, ids: Tensor, mask: Tensor) -> States:
        """The states of texts (B, T) with 0/1 mask."""
        early = rows = self.backbone.embed(ids)
        added = additive_mask(mask, rows.dtype)
        for number, block in enumerate(self.backbone.blocks, start=1):
            rows = block(rows, added)
            if number == len(self.backbone.blocks) // 2:
                early = rows
        return States(mean_pool(rows, mask), rows, early)

    def head_states(self, states: States, mask: Tensor) -> Tensor:
        """(B, T, d) states after the head, which reads the vector in the place of the first token."""
        rows = torch.cat([states.vectors[:, None].to(states.early.dtype), states.early[:, 1:]], 1)
        added = additive_mask(mask, rows.dtype)
        for block in self.head.blocks:
            rows = block(rows, added)
        return rows

    def losses(self, states: States, mask: Tensor, ids: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """The sums () of the losses of chosen tokens, predicted from the head and from the last layer.

        `ids` and `chosen` (B, T) are the tokens themselves, and which of them are predicted.
        """
        wanted, tokens = ids[chosen], self.backbone.tokens.weight
        of_head, late = (
            functional.cross_entropy(self.head.decoder(rows[chosen], tokens), wanted, reduction="sum")
            for rows in (self.head_states(states, mask), states.late)
        )
        return of_head, late


def contrast_spans(vectors: Tensor, kind: Literal["product", "cosine"], temperature: float) -> tuple[Tensor, Tensor]:
    """The mean loss () over spans (2n, d), of which 2i and 2i + 1 are of one document, and the share () that finds it.

    Each span finds the other one of its document among all spans of the batch: -log of exp(<h, h'>) over the sum of
    exp(<h, k>) for all spans k but h (coCondenser, equation 6). Scores are divided by the temperature.
    """
    vectors = vectors.float()
    if kind == "cosine":
        vectors = functional.normalize(vectors, dim=-1)
    n = len(vectors)
    scores = (vectors @ vectors.T) / temperature
    scores = scores.masked_fill(torch.eye(n, dtype=torch.bool, device=scores.device), -torch.inf)
    other = torch.arange(n, device=scores.device) ^ 1
    return functional.cross_entropy(scores, other), (scores.argmax(1) == other).float().mean()

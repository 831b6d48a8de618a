"""Condenser: a head that predicts masked tokens from early states of the tokens and the vector of the whole text.

The late layers influence the head through the vector alone, so they learn to put into it what the early states lack
(Gao & Callan, 2021). The head is only used in pretraining.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool
from cdesearch.models.config import BackboneConfig
from trainer.pretraining.masked_tokens import DEVIATION, MaskedTokenDecoder

Slot = Literal["cls", "mean"]


class CondenserHead(nn.Module):
    """New layers, and the decoder of masked tokens, which the late layers share with them."""

    def __init__(self, config: BackboneConfig, n_layers: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(n_layers))
        for module in self.blocks.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=DEVIATION)
                nn.init.zeros_(module.bias)
        self.decoder = MaskedTokenDecoder(config.dimension, config.vocabulary, config.norm_eps)


class States(NamedTuple):
    """The vectors (B, d) of texts, and the states (B, T, d) of their tokens after the last and the early layers."""

    vectors: Tensor
    late: Tensor
    early: Tensor


class Condenser(nn.Module):
    """A backbone with its head."""

    def __init__(self, backbone: Backbone, head: CondenserHead, early_layers: int, slot: Slot) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.early_layers = early_layers
        self.slot = slot

    def states(self, ids: Tensor, mask: Tensor) -> States:
        """The states of texts (B, T) with 0/1 mask."""
        early = rows = self.backbone.embed(ids)
        added = additive_mask(mask, rows.dtype)
        for number, block in enumerate(self.backbone.blocks, start=1):
            rows = block(rows, added)
            if number == self.early_layers:
                early = rows
        vectors = rows[:, 0] if self.slot == "cls" else mean_pool(rows, mask)
        return States(vectors, rows, early)

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

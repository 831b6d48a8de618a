"""BERT, the backbone of both stages of this project's models."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import LayerContext, Mask, Projected, Rotation, SelfAttention, attend, project
from cdesearch.models.backbones.packed import Packing
from cdesearch.models.config import BackboneConfig


class Block(nn.Module):
    """One post-norm transformer layer."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config.dimension, config.n_heads)
        self.attention_norm = nn.LayerNorm(config.dimension, config.norm_eps)
        self.up = nn.Linear(config.dimension, config.inner)
        self.down = nn.Linear(config.inner, config.dimension)
        self.norm = nn.LayerNorm(config.dimension, config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, rows: Tensor, mask: Mask, context: LayerContext | None = None) -> Tensor:
        return self._after(rows, self.attention(rows, mask, context))

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(self.attention.qkv, rows, n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation | None = None) -> Tensor:  # noqa: ARG002 (positions are learned)
        mixed = attend(*projected, self.attention.n_heads, mask)
        return self._after(rows[:, -mixed.shape[1] :], self.attention.out(mixed))

    def _after(self, rows: Tensor, attended: Tensor) -> Tensor:
        rows = self.attention_norm(rows + self.dropout(attended))
        rows = rows + self.dropout(self.down(functional.gelu(self.up(rows))))
        return self.norm(rows)  # type: ignore[no-any-return] # a module returns Any


class Backbone(nn.Module):
    """Token ids to token states."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.dimension)
        self.positions = nn.Embedding(config.n_positions, config.dimension)
        self.norm = nn.LayerNorm(config.dimension, config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))

    def embed(self, input_ids: Tensor, positions: Tensor | None = None) -> Tensor:
        """(B, T) ids to (B, T, d) rows with positions, normalised; `positions` (T,) or (B, T) default to 0 ... T-1."""
        if positions is None:
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        return self.dropout(self.norm(self.tokens(input_ids) + self.positions(positions)))  # type: ignore[no-any-return] # a module returns Any

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, T, d) states without a context; without a mask no text is padded."""
        rows = self.embed(input_ids)
        mask = None if attention_mask is None else additive_mask(attention_mask, rows.dtype)
        for block in self.blocks:
            rows = block(rows, mask)
        return rows

    def packed_states(self, packing: Packing) -> Tensor:
        """(1, N, d) states of packed texts without a context."""
        rows = self.embed(packing.ids, packing.positions)
        for block in self.blocks:
            rows = block(rows, packing)
        return rows


def additive_mask(attention_mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A 0/1 mask (B, T) as (B, 1, 1, T) to add to attention scores: 0 for 1, the lowest number for 0."""
    return (1.0 - attention_mask[:, None, None, :].to(dtype)) * torch.finfo(dtype).min


def mean_pool(states: Tensor, weights: Tensor) -> Tensor:
    """(B, T, d) states and (B, T) weights, zero on padding, to the (B, d) weighted mean."""
    weights = weights.to(states.dtype)[..., None]
    return (states * weights).sum(1) / weights.sum(1).clamp_min(1e-9)


def pool_chunks(states: Tensor, weights: Tensor) -> Tensor:
    """(B, C, d) means of states (B, T, d) by a matrix of weights (B, C, T) of tokens in chunks; zero where all are."""
    weights = weights.to(states.dtype)
    return (weights @ states) / weights.sum(2, keepdim=True).clamp_min(1e-9)


def pool_spans(pooled: Tensor, weights: Tensor) -> Tensor:
    """The means (B, d) of texts from those of their spans (B * S, d); `weights` (B, S, T) of tokens, 0 on padding."""
    totals = weights.sum(2).to(pooled.dtype)
    sums: Tensor = (pooled.unflatten(0, totals.shape) * totals[..., None]).sum(1)
    return sums / totals.sum(1)[:, None].clamp_min(1e-9)


def bert_state(state: Mapping[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """A published BERT state dict under the names of `Backbone`; raises KeyError for a missing tensor.

    The embedding of token type 0, the only one in use, is added to the positions.
    """
    renamed = {
        "tokens.weight": state["embeddings.word_embeddings.weight"],
        "positions.weight": state["embeddings.position_embeddings.weight"]
        + state["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": state["embeddings.LayerNorm.weight"],
        "norm.bias": state["embeddings.LayerNorm.bias"],
    }
    for layer in range(n_layers):
        published = f"encoder.layer.{layer}"
        for part in ("weight", "bias"):
            qkv = [state[f"{published}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            renamed[f"blocks.{layer}.attention.qkv.{part}"] = torch.cat(qkv)
            for name, source in {
                "attention.out": "attention.output.dense",
                "attention_norm": "attention.output.LayerNorm",
                "up": "intermediate.dense",
                "down": "output.dense",
                "norm": "output.LayerNorm",
            }.items():
                renamed[f"blocks.{layer}.{name}.{part}"] = state[f"{published}.{source}.{part}"]
    return renamed

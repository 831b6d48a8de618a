"""NomicBERT (nomic-ai/nomic-bert-2048), the backbone of cde-small-v1. Parameters have their published names."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import Projected, project
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.joint import JointLayer, Step, through
from cdesearch.models.backbones.rotary import Rotation, attend_rotated, rotation


@dataclass(frozen=True, slots=True)
class NomicBertConfig:
    """Shape of one NomicBERT (post-norm, rotary positions, SwiGLU, biases only in norms); by default as published."""

    vocabulary: int = 30528
    dimension: int = 768
    n_layers: int = 12
    n_heads: int = 12
    inner: int = 3072
    norm_eps: float = 1e-12
    rotary_base: float = 1000.0


class NomicBert(nn.Module):
    """Token ids to token states; texts are padded on the right."""

    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.emb_ln = nn.LayerNorm(config.dimension, config.norm_eps)
        self.encoder = _Encoder(config)

    def embed(self, input_ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, d) rows of tokens and token type 0, not yet normalised."""
        return self.embeddings(input_ids)  # type: ignore[no-any-return] # a module returns Any

    @property
    def first_layer(self) -> JointLayer:
        """The layer that receives the rows of `enter`."""
        return cast("JointLayer", self.encoder.layers[0])

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) as the input of the first layer, normalised."""
        return self.emb_ln(rows)  # type: ignore[no-any-return] # a module returns Any

    def steps(self, attention_mask: Tensor, n_free: int = 0, start: int = 0) -> list[Step]:
        """The layers for rows with the 0/1 mask (B, S), each with its additive mask and rotation.

        The first `n_free` rows have no position, so they are not rotated. The next row is at position `start`.
        """
        config, dtype = self.config, self.emb_ln.weight.dtype
        n_rotated = attention_mask.shape[1] - n_free
        turns = functional.pad(torch.arange(start, start + n_rotated, device=attention_mask.device), (n_free, 0))
        by = rotation(turns[:, None], config.dimension // config.n_heads, config.rotary_base, dtype)
        mask = additive_mask(attention_mask, dtype)
        return [(cast("JointLayer", layer), mask, by) for layer in self.encoder.layers]

    def leave(self, states: Tensor) -> Tensor:
        """The states (B, T, d) of the last layer, unchanged: that layer ends with a norm."""
        return states

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, T, d) states, without a context."""
        return through(self.steps(attention_mask), self.enter(self.embed(input_ids)))


class _Embeddings(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocabulary, config.dimension)
        self.token_type_embeddings = nn.Embedding(2, config.dimension)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.word_embeddings(input_ids) + self.token_type_embeddings.weight[0]  # type: ignore[no-any-return] # a module returns Any


class _Encoder(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.n_layers))


class _Layer(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.attn = _Attention(config)
        self.norm1 = nn.LayerNorm(config.dimension, config.norm_eps)
        self.mlp = _GatedMLP(config)
        self.norm2 = nn.LayerNorm(config.dimension, config.norm_eps)

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(self.attn.Wqkv, rows, n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation) -> Tensor:
        mixed = attend_rotated(projected, self.attn.n_heads, by, mask)
        rows = self.norm1(rows[:, -mixed.shape[1] :] + self.attn.out_proj(mixed))
        return self.norm2(rows + self.mlp(rows))  # type: ignore[no-any-return] # a module returns Any


class _Attention(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.Wqkv = nn.Linear(config.dimension, 3 * config.dimension, bias=False)
        self.out_proj = nn.Linear(config.dimension, config.dimension, bias=False)


class _GatedMLP(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.fc11 = nn.Linear(config.dimension, config.inner, bias=False)
        self.fc12 = nn.Linear(config.dimension, config.inner, bias=False)
        self.fc2 = nn.Linear(config.inner, config.dimension, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        return self.fc2(self.fc11(rows) * functional.silu(self.fc12(rows)))  # type: ignore[no-any-return] # a module returns Any

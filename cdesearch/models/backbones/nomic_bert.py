"""NomicBERT (nomic-ai/nomic-bert-2048), the backbone of cde-small-v1. Parameters have their published names."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import Projected, Rotation, attend_rotated, project, rotation
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.joint import JointLayer, Step, through


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
        words, types = (nn.Embedding(size, config.dimension) for size in (config.vocabulary, 2))
        self.embeddings = nn.ModuleDict({"word_embeddings": words, "token_type_embeddings": types})
        self.emb_ln = nn.LayerNorm(config.dimension, config.norm_eps)
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(_Layer(config) for _ in range(config.n_layers))})

    def embed(self, input_ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, d) rows of tokens and token type 0, not yet normalised."""
        of_type = cast("nn.Embedding", self.embeddings["token_type_embeddings"]).weight[0]
        return self.embeddings["word_embeddings"](input_ids) + of_type  # type: ignore[no-any-return] # a module returns Any

    @property
    def layers(self) -> list[JointLayer]:
        """The layers, of which the first one receives the rows of `enter`."""
        return cast("list[JointLayer]", self.encoder["layers"])

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) as the input of the first layer, normalised."""
        return self.emb_ln(rows)  # type: ignore[no-any-return] # a module returns Any

    def steps(self, attention_mask: Tensor, n_free: int = 0) -> list[Step]:
        """The layers for rows with the 0/1 mask (B, S). The first `n_free` rows have no position."""
        config, dtype = self.config, self.emb_ln.weight.dtype
        turns = torch.arange(attention_mask.shape[1], device=attention_mask.device)
        turns[:n_free] = 0
        by = rotation(turns[:, None], config.dimension // config.n_heads, config.rotary_base, dtype)
        mask = additive_mask(attention_mask, dtype)
        return [(layer, mask, by) for layer in self.layers]

    def leave(self, states: Tensor) -> Tensor:
        """The states (B, T, d) of the last layer, unchanged: that layer ends with a norm."""
        return states

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, T, d) states, without a context."""
        return through(self.steps(attention_mask), self.enter(self.embed(input_ids)))


class _Layer(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        d, inner = config.dimension, config.inner
        self.n_heads = config.n_heads
        self.attn = nn.ModuleDict({"Wqkv": nn.Linear(d, 3 * d, bias=False), "out_proj": nn.Linear(d, d, bias=False)})
        self.norm1 = nn.LayerNorm(d, config.norm_eps)
        sizes = {"fc11": (d, inner), "fc12": (d, inner), "fc2": (inner, d)}
        self.mlp = nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()})
        self.norm2 = nn.LayerNorm(d, config.norm_eps)

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(cast("nn.Linear", self.attn["Wqkv"]), rows, n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation) -> Tensor:
        mixed = attend_rotated(projected, self.n_heads, by, mask)
        rows = self.norm1(rows[:, -mixed.shape[1] :] + self.attn["out_proj"](mixed))
        gated = self.mlp["fc11"](rows) * functional.silu(self.mlp["fc12"](rows))
        return self.norm2(rows + self.mlp["fc2"](gated))  # type: ignore[no-any-return] # a module returns Any

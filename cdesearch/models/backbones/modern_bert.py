"""ModernBERT (answerdotai/ModernBERT-base), the backbone of cde-small-v2. Parameters have their published names."""

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
class ModernBertConfig:
    """Shape of one ModernBERT (pre-norm, rotary positions, gated GELU, no biases). Defaults are ModernBERT-base's."""

    vocabulary: int = 50368
    dimension: int = 768
    n_layers: int = 22
    n_heads: int = 12
    inner: int = 1152
    norm_eps: float = 1e-5
    global_every: int = 3  # every third layer, starting with the first, attends to all rows; the others to near ones
    reach: int = 64  # rows to either side that a local layer attends to
    global_theta: float = 160_000.0
    local_theta: float = 10_000.0


class ModernBert(nn.Module):
    """Token ids to token states; texts are padded on the right."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.layers = nn.ModuleList(_Layer(config, is_first=index == 0) for index in range(config.n_layers))
        self.final_norm = _norm(config)

    def embed(self, input_ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, d) normalised rows."""
        return self.embeddings(input_ids)  # type: ignore[no-any-return] # a module returns Any

    @property
    def first_layer(self) -> JointLayer:
        """The layer that receives the rows of `enter`."""
        return cast("JointLayer", self.layers[0])

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) of text or context as the input of the first layer, normalised (again, if they were)."""
        return self.embeddings.norm(rows)  # type: ignore[no-any-return] # a module returns Any

    def steps(self, attention_mask: Tensor) -> list[Step]:
        """The layers for rows with the 0/1 mask (B, S), each with its additive mask and rotation."""
        config, head_dimension = self.config, self.config.dimension // self.config.n_heads
        dtype = self.final_norm.weight.dtype
        positions = torch.arange(attention_mask.shape[1], device=attention_mask.device)
        mask = additive_mask(attention_mask, dtype)
        is_far = (positions[:, None] - positions).abs() > config.reach
        local_mask = mask.masked_fill(is_far, torch.finfo(dtype).min)  # (B, 1, S, S)
        of_global, of_local = (
            rotation(positions[:, None], head_dimension, theta, dtype)
            for theta in (config.global_theta, config.local_theta)
        )
        return [
            (cast("JointLayer", layer), *((local_mask, of_local) if index % config.global_every else (mask, of_global)))
            for index, layer in enumerate(self.layers)
        ]

    def leave(self, states: Tensor) -> Tensor:
        """States (B, T, d) after the last layer, normalised."""
        return self.final_norm(states)  # type: ignore[no-any-return] # a module returns Any

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, T, d) states, without a context."""
        return self.leave(through(self.steps(attention_mask), self.embed(input_ids)))


def _norm(config: ModernBertConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.dimension, config.norm_eps, bias=False)


class _Embeddings(nn.Module):
    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(config.vocabulary, config.dimension)
        self.norm = _norm(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.norm(self.tok_embeddings(input_ids))  # type: ignore[no-any-return] # a module returns Any


class _Layer(nn.Module):
    def __init__(self, config: ModernBertConfig, *, is_first: bool) -> None:
        super().__init__()
        self.attn_norm = nn.Identity() if is_first else _norm(config)  # the first one's rows come normalised
        self.attn = _Attention(config)
        self.mlp_norm = _norm(config)
        self.mlp = _GatedMLP(config)

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(self.attn.Wqkv, self.attn_norm(rows), n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation) -> Tensor:
        mixed = attend_rotated(projected, self.attn.n_heads, by, mask)
        rows = rows[:, -mixed.shape[1] :] + self.attn.Wo(mixed)
        return rows + self.mlp(self.mlp_norm(rows))  # type: ignore[no-any-return] # a module returns Any


class _Attention(nn.Module):
    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.Wqkv = nn.Linear(config.dimension, 3 * config.dimension, bias=False)
        self.Wo = nn.Linear(config.dimension, config.dimension, bias=False)


class _GatedMLP(nn.Module):
    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.Wi = nn.Linear(config.dimension, 2 * config.inner, bias=False)
        self.Wo = nn.Linear(config.inner, config.dimension, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        activated, gate = self.Wi(rows).chunk(2, dim=-1)
        return self.Wo(functional.gelu(activated) * gate)  # type: ignore[no-any-return] # a module returns Any

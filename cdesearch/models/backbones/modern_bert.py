"""ModernBERT (answerdotai/ModernBERT-base), the backbone of cde-small-v2. Parameters have their published names."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import Projected, Rotation, attend_rotated, project, rotation
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.joint import JointLayer, Step, through


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
        tokens = nn.Embedding(config.vocabulary, config.dimension)
        self.embeddings = nn.ModuleDict({"tok_embeddings": tokens, "norm": _norm(config)})
        self.layers = nn.ModuleList(_Layer(config, is_first=index == 0) for index in range(config.n_layers))
        self.final_norm = _norm(config)

    def embed(self, input_ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, d) normalised rows."""
        return self.enter(self.embeddings["tok_embeddings"](input_ids))

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) of text or context as the input of the first layer, normalised (again, if they were)."""
        return self.embeddings["norm"](rows)  # type: ignore[no-any-return] # a module returns Any

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


class _Layer(nn.Module):
    def __init__(self, config: ModernBertConfig, *, is_first: bool) -> None:
        super().__init__()
        self.attn_norm = nn.Identity() if is_first else _norm(config)  # the first one's rows come normalised
        d = config.dimension
        self.n_heads = config.n_heads
        self.attn = nn.ModuleDict({"Wqkv": nn.Linear(d, 3 * d, bias=False), "Wo": nn.Linear(d, d, bias=False)})
        self.mlp_norm = _norm(config)
        up, down = nn.Linear(d, 2 * config.inner, bias=False), nn.Linear(config.inner, d, bias=False)
        self.mlp = nn.ModuleDict({"Wi": up, "Wo": down})

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(cast("nn.Linear", self.attn["Wqkv"]), self.attn_norm(rows), n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation) -> Tensor:
        mixed = attend_rotated(projected, self.n_heads, by, mask)
        rows = rows[:, -mixed.shape[1] :] + self.attn["Wo"](mixed)
        activated, gate = self.mlp["Wi"](self.mlp_norm(rows)).chunk(2, dim=-1)
        return rows + self.mlp["Wo"](functional.gelu(activated) * gate)  # type: ignore[no-any-return] # a module returns Any

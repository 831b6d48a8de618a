"""The second stage embeds a document or query, given the context (CDE section 4.2, equations 5 and 6)."""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import CachedRows, ContextAttention, Mask
from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool, pool_spans
from cdesearch.models.backbones.joint import ContextPrefix, Step, text_states
from cdesearch.models.backbones.packed import Packing
from cdesearch.models.config import ModelConfig


class SecondStage(nn.Module):
    """A backbone whose text rows attend to text and context, in one of two ways (`ModelConfig.context_attention`).

    `cached`: gated cross-attention with a softmax of its own. Context rows do not depend on the text, so their keys and
    values are computed once for each corpus. `joint`, as in the paper: context rows without positions precede the text
    in one sequence, and all rows attend to all.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, n_layers = config.backbone.dimension, config.backbone.n_layers
        self.joint = config.context_attention == "joint"
        self.backbone = Backbone(config.backbone)
        self.null = nn.Parameter(torch.zeros(d))
        self.context_projection = nn.Linear(d, d)
        eps = config.backbone.norm_eps if config.context_norm_eps is None else config.context_norm_eps
        self.context_norm = nn.LayerNorm(d, eps)
        self._context_from = n_layers if self.joint else config.context_from
        # The cross-attention of each gated layer; `doors` is part of the names of weights in checkpoints.
        self.doors = nn.ModuleList(
            ContextAttention(d, config.backbone.n_heads, sink=config.context_sink)
            for _ in range(n_layers - self._context_from)
        )

    @property
    def layers(self) -> list[tuple[Block, ContextAttention | None]]:
        """Each block of the backbone with its cross-attention to the cached context, None for layers without it."""
        cross = [*(None for _ in range(self._context_from)), *self.doors]
        return cast("list[tuple[Block, ContextAttention | None]]", list(zip(self.backbone.blocks, cross, strict=True)))

    @property
    def gates(self) -> list[nn.Parameter]:
        """The gates (n_heads,) of every layer with cross-attention, before tanh; without effect if zero."""
        return [cross.gate for _, cross in self.layers if cross is not None]

    @property
    def gates_are_zero(self) -> bool:
        """Whether every gate is zero, so that the context changes nothing; false for a joint model."""
        return not self.joint and not any(gate.any() for gate in self.gates)

    @property
    def reads_context(self) -> bool:
        """Whether the context changes the vectors, or may do so after a training step because gates are trained."""
        learns = self.training and torch.is_grad_enabled() and any(gate.requires_grad for gate in self.gates)
        return learns or not self.gates_are_zero

    def project_context(self, vectors: Tensor, is_null: Tensor) -> Tensor:
        """First-stage vectors (J, d) to context rows (J, d); slots where `is_null` (J,) hold the null vector."""
        vectors = torch.where(is_null[:, None], self.null.to(vectors.dtype), vectors)
        return self.context_norm(self.context_projection(vectors))  # type: ignore[no-any-return] # a module returns Any

    def cache(self, vectors: Tensor, is_null: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (L, J, d) of the context in the gated layers, from first-stage vectors (J, d)."""
        rows = self.project_context(vectors, is_null)[None]
        keys, values = [], []
        for block, cross in self.layers:
            if cross is not None:
                key, value = cross.key_value(rows[0]).chunk(2, dim=-1)
                keys.append(key)
                values.append(value)
            rows = block(rows, None)
        return torch.stack(keys), torch.stack(values)

    def states(
        self, input_ids: Tensor, attention_mask: Tensor | None, keys: Tensor | None, values: Tensor | None
    ) -> Tensor:
        """(B, T, d) text states with cached keys and values (L, J, d), or without; no mask: no text is padded."""
        rows = self.backbone.embed(input_ids)
        mask = None if attention_mask is None else additive_mask(attention_mask, rows.dtype)
        return self._through(rows, mask, keys, values)

    def packed_states(self, packing: Packing, keys: Tensor | None, values: Tensor | None) -> Tensor:
        """(1, N, d) states of packed texts with cached keys and values (L, J, d) of a context."""
        return self._through(self.backbone.embed(packing.ids, packing.positions), packing, keys, values)

    def _through(self, rows: Tensor, mask: Mask, keys: Tensor | None, values: Tensor | None) -> Tensor:
        cached: Iterator[CachedRows] = iter(()) if keys is None or values is None else zip(keys, values, strict=True)
        for block, cross in self.layers:
            of_layer = next(cached, None) if cross is not None else None
            rows = block(rows, mask, None if cross is None or of_layer is None else (cross, of_layer))
        return rows

    def context_prefix(self, vectors: Tensor, is_null: Tensor) -> ContextPrefix:
        """The J rows that precede every text in a joint model, from first-stage vectors (J, d)."""
        rows = self.project_context(vectors, is_null)[None]
        return ContextPrefix(rows, self.layers[0][0].project(rows))

    def states_after(self, input_ids: Tensor, attention_mask: Tensor, prefix: ContextPrefix) -> Tensor:
        """(B, T, d) text states after a prefix, which `context_prefix` makes once for all batches."""
        text = self.backbone.embed(input_ids)
        ones = attention_mask.new_ones(text.shape[0], prefix.rows.shape[1])
        mask = additive_mask(torch.cat([ones, attention_mask], dim=1), text.dtype)
        steps: list[Step] = [(block, mask, None) for block, _ in self.layers]
        return text_states(prefix, text, steps)


def read_out(states: Tensor, weights: Tensor, shift: Tensor, projection: Tensor) -> tuple[Tensor, Tensor]:
    """Pooled (B, d) and final unit vectors (B, d) of text `states` (B * S, T, d); `weights` (B, S, T)."""
    pooled = pool_spans(mean_pool(states, weights.flatten(0, 1)), weights)
    return pooled, statistics_head(pooled, shift, projection)


def statistics_head(pooled: Tensor, shift: Tensor, projection: Tensor) -> Tensor:
    """Whitened unit vectors (B, n): `pooled` (B, d) normalised, minus `shift` (d,), times `projection` (d, n)."""
    whitened = (functional.normalize(pooled, dim=-1) - shift) @ projection
    return functional.normalize(whitened, dim=-1)

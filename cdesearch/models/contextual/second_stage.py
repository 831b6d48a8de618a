"""The second stage: embeds a text, document or query alike, given the context (CDE section 4.2, equations 5 and 6)."""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import ContextAttention, Mask
from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool, pool_spans
from cdesearch.models.backbones.joint import ContextPrefix, Step, make_prefix, text_states
from cdesearch.models.backbones.joint_softmax import JointSoftmaxAttention
from cdesearch.models.backbones.packed import Packing
from cdesearch.models.config import ModelConfig


class SecondStage(nn.Module):
    """Text rows attend to text and context. `cached`: context rows never see the text, so they run once a corpus.

    Text sees them through a softmax of its own; `one_softmax`: through the one that it sees itself through.
    `joint` is the paper's: context rows without positions stand in the text's own sequence, and all attend to all.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, n_heads = config.backbone.dimension, config.backbone.n_heads
        self.joint = config.context_attention == "joint"
        self.backbone = Backbone(config.backbone)
        self.null = nn.Parameter(torch.zeros(d))
        self.context_projection = nn.Linear(d, d)
        self.context_norm = nn.LayerNorm(d, config.backbone.norm_eps)
        self._context_from = config.backbone.n_layers if self.joint else config.context_from
        doors = range(self._context_from, config.backbone.n_layers)
        kind = JointSoftmaxAttention if config.context_attention == "one_softmax" else ContextAttention
        self.doors = nn.ModuleList(kind(d, n_heads) for _ in doors)  # the name is part of the checkpoint format
        self.can_pack = config.context_attention == "cached"  # the packed kernels know a text's own rows alone

    @property
    def layers(self) -> list[tuple[Block, ContextAttention | None]]:
        """Each block of the backbone with its door to the cached context, where it has one."""
        doors = [*(None for _ in range(self._context_from)), *self.doors]
        return cast("list[tuple[Block, ContextAttention | None]]", list(zip(self.backbone.blocks, doors, strict=True)))

    @property
    def gates(self) -> list[nn.Parameter]:
        """How far each door is open, (n_heads,) before tanh."""
        return [door.gate for _, door in self.layers if door is not None]

    @property
    def gates_closed(self) -> bool:
        """Whether no layer lets any context in."""
        return not self.joint and not any(gate.any() for gate in self.gates)

    def project_context(self, vectors: Tensor, is_null: Tensor) -> Tensor:
        """First-stage vectors (J, d) to context rows (J, d); slots where `is_null` (J,) hold the null vector."""
        vectors = torch.where(is_null[:, None], self.null.to(vectors.dtype), vectors)
        return self.context_norm(self.context_projection(vectors))  # type: ignore[no-any-return] # a module returns Any

    def cache(self, vectors: Tensor, is_null: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (doors, J, d) of the context, from first-stage vectors (J, d)."""
        rows = self.project_context(vectors, is_null)[None]
        keys, values = [], []
        for block, door in self.layers:
            if door is not None:
                key, value = door.key_value(rows[0]).chunk(2, dim=-1)
                keys.append(key)
                values.append(value)
            rows = block(rows, None)
        return torch.stack(keys), torch.stack(values)

    def states(
        self, input_ids: Tensor, attention_mask: Tensor | None, keys: Tensor | None, values: Tensor | None
    ) -> Tensor:
        """(B, T, d) text states given cached keys and values (doors, J, d), or none for the plain biencoder.

        Without a mask no text is padded.
        """
        rows = self.backbone.embed(input_ids)
        mask = None if attention_mask is None else additive_mask(attention_mask, rows.dtype)
        return self._through(rows, mask, keys, values)

    def packed_states(self, packing: Packing, keys: Tensor | None, values: Tensor | None) -> Tensor:
        """(1, N, d), the same of packed texts."""
        return self._through(self.backbone.embed(packing.ids, packing.places), packing, keys, values)

    def _through(self, rows: Tensor, mask: Mask, keys: Tensor | None, values: Tensor | None) -> Tensor:
        held = iter([] if keys is None or values is None else zip(keys, values, strict=True))
        for block, door in self.layers:
            seen = next(held, None) if door is not None else None
            rows = block(rows, mask, None if seen is None else (door, *seen))
        return rows

    def context_prefix(self, vectors: Tensor, is_null: Tensor) -> ContextPrefix:
        """The J rows that precede every text in a joint model, from first-stage vectors (J, d)."""
        return make_prefix(self.project_context(vectors, is_null), self.layers[0][0])

    def joint_states(self, input_ids: Tensor, attention_mask: Tensor, vectors: Tensor, is_null: Tensor) -> Tensor:
        """(B, T, d) text states with the context's J rows in the same sequence."""
        return self.states_after(input_ids, attention_mask, self.context_prefix(vectors, is_null))

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
    """The unit vectors of `pooled` (B, d), minus `shift` (d,), times `projection` (d, d), normalised again."""
    moved = (functional.normalize(pooled, dim=-1) - shift) @ projection
    return functional.normalize(moved, dim=-1)

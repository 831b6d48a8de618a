"""Multi-head attention over a text, and gated cross-attention to a cached context."""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.packed import Packing, attend_packed

Mask = Tensor | Packing | None  # (B, 1, 1, S) to add to the scores, the bounds of packed texts, or no padding

Projected = tuple[Tensor, Tensor, Tensor]  # queries (B, A, d), keys and values (B, S, d)


def project(qkv: nn.Linear, rows: Tensor, n_queries: int | None = None) -> Projected:
    """Rows (B, S, d) through one matrix laid out (three, d); queries of the last `n_queries` rows alone, or of all."""
    if n_queries is None or n_queries == rows.shape[1]:
        queries, keys, values = qkv(rows).chunk(3, dim=-1)
        return queries, keys, values
    d = rows.shape[-1]
    bias = (None, None) if qkv.bias is None else qkv.bias.split([d, 2 * d])
    keys, values = functional.linear(rows, qkv.weight[d:], bias[1]).chunk(2, dim=-1)
    return functional.linear(rows[:, -n_queries:], qkv.weight[:d], bias[0]), keys, values


def attend(queries: Tensor, keys: Tensor, values: Tensor, n_heads: int, mask: Mask = None) -> Tensor:
    """(B, T, d) from queries (B, T, d), keys and values (B, S, d)."""
    if isinstance(mask, Packing):
        return attend_packed(queries, keys, values, n_heads, mask)
    if mask is None and torch.onnx.is_in_onnx_export():
        fused: Tensor = _FusedAttention.apply(queries, keys, values, n_heads)  # type: ignore[no-untyped-call] # torch's
        return fused
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (queries, keys, values))
    if _multiplies_faster(q):
        return attend_by_matrices(q, k, v, mask).transpose(1, 2).flatten(2)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)


def attend_by_matrices(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """(B, heads, T, d) from queries (B, heads, T, d), keys and values (B, heads, S, d), by matrix products."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    mixed: Tensor = (scores if mask is None else scores + mask).softmax(-1).to(v.dtype) @ v
    return mixed


def _multiplies_faster(queries: Tensor) -> bool:
    """Whether to train by matrix products instead of torch's flash attention: in bf16 on a CPU with AMX.

    Matrix products use the tiles of AMX; the backward pass of flash attention does not. In fp32, and on processors
    without AMX, flash attention is faster.
    """
    on_cpu = queries.device.type == "cpu" and queries.dtype == torch.bfloat16
    return on_cpu and torch.is_grad_enabled() and _has_tiles()


@cache
def _has_tiles() -> bool:
    """Whether this processor multiplies bf16 matrices in tiles (AMX)."""
    return torch.cpu._is_amx_tile_supported()


# Rotary position embedding (RoFormer, arXiv 2104.09864); the two halves of a head form the pairs, as in GPT-NeoX.
Rotation = tuple[Tensor, Tensor]  # cosines and sines, (T, 1, d / 2) for all heads alike or (T, heads, d / 2)


def rotation(turns: Tensor, head_dimension: int, theta: float, dtype: torch.dtype) -> Rotation:
    """The rotation of rows at positions `turns`, (T, 1) or (T, heads); a row at position 0 is not changed."""
    # Angles are computed in fp32, whatever the precision of the model: bf16 cannot represent all positions above 256.
    exponents = torch.arange(0, head_dimension, 2, device=turns.device, dtype=torch.float32) / head_dimension
    angles = turns.float()[..., None] * (1.0 / theta**exponents)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def attend_rotated(projected: Projected, n_heads: int, by: Rotation, mask: Mask) -> Tensor:
    """Attention (B, A, d) of the last A rows, those with queries. Queries and keys are rotated; values are not."""
    queries, keys, values = projected
    return attend(_rotate(queries, n_heads, by), _rotate(keys, n_heads, by), values, n_heads, mask)


def _rotate(rows: Tensor, n_heads: int, by: Rotation) -> Tensor:
    cosines, sines = (turn[-rows.shape[1] :] for turn in by)
    first, second = rows.unflatten(-1, (n_heads, -1)).chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1).flatten(2)


class _FusedAttention(torch.autograd.Function):
    """ONNX Runtime's own operator, which never writes the scores to memory: a tenth faster than its parts."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, n_heads: int) -> Tensor:  # noqa: ARG004 (torch passes them)
        """A tensor of the right shape, which is all that tracing needs."""
        return queries.clone()

    @staticmethod
    def symbolic(graph: Any, queries: Any, keys: Any, values: Any, n_heads: int) -> Any:
        """Add ONNX Runtime's operator to the exported graph."""
        node = graph.op("com.microsoft::MultiHeadAttention", queries, keys, values, num_heads_i=n_heads)
        return node.setType(queries.type())


CachedRows = tuple[Tensor, Tensor]  # a context's keys and values (J, d)


class ContextAttention(nn.Module):
    """One layer's gated cross-attention to the cached context, with one gate for each head.

    The gates start at 0, and the layer then computes the same as a layer of a plain biencoder. Context rows carry no
    position, so their order has no effect. With a `sink`, the softmax has one more slot, with a learned key and the
    value zero: a text that nothing in the context resembles need not read anything in it.
    """

    def __init__(self, dimension: int, n_heads: int, *, sink: bool = False) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.sink = nn.Parameter(torch.zeros(dimension)) if sink else None
        self.key_value = nn.Linear(dimension, 2 * dimension)
        self.gate = nn.Parameter(torch.zeros(n_heads))

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """(B, T, d) from queries (B, T, d) and the context's keys and values (J, d), times tanh of the gate."""
        if self.sink is not None:
            keys = torch.cat([keys, self.sink.to(keys.dtype)[None]])
            values = torch.cat([values, torch.zeros_like(values[:1])])
        # All texts attend to the same context, so they form one long row, and nothing is copied for each.
        row = queries.reshape(1, -1, queries.shape[-1])
        mixed = attend(row, keys[None], values[None], self.n_heads).reshape(queries.shape)
        heads: Tensor = mixed.unflatten(-1, (self.n_heads, -1))
        return (heads * torch.tanh(self.gate)[:, None]).flatten(2)


LayerContext = tuple[ContextAttention, CachedRows]  # a layer's cross-attention, and what it reads


class SelfAttention(nn.Module):
    """Text attends to itself and, through gated cross-attention, to the context."""

    def __init__(self, dimension: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(dimension, 3 * dimension)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, rows: Tensor, mask: Mask, context: LayerContext | None = None) -> Tensor:
        q, k, v = self.qkv(rows).chunk(3, dim=-1)
        mixed = attend(q, k, v, self.n_heads, mask)
        if context is not None:
            cross_attention, cached = context
            mixed = mixed + cross_attention(q, *cached)
        return self.out(mixed)  # type: ignore[no-any-return] # a module returns Any

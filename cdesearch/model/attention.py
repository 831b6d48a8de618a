"""Multi-head attention over text, and over a cached context through a gated softmax of its own."""

import torch
from torch import Tensor, nn
from torch.nn import functional


def attend(queries: Tensor, keys: Tensor, values: Tensor, n_heads: int, mask: Tensor | None = None) -> Tensor:
    """(B, T, d) from queries (B, T, d), keys and values (B or 1, S, d); `mask` (B, 1, 1, S) is added to the scores."""
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (queries, keys, values))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Text attends to text and, where context keys and values are given, to the context."""

    def __init__(self, dimension: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(dimension, 3 * dimension)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, rows: Tensor, mask: Tensor | None, gated_context: Tensor | None = None) -> Tensor:
        """(B, T, d) to (B, T, d); `gated_context` (B, T, d) is what the context softmax adds before the projection."""
        q, k, v = self.qkv(rows).chunk(3, dim=-1)
        mixed = attend(q, k, v, self.n_heads, mask)
        return self.out(mixed if gated_context is None else mixed + gated_context)  # type: ignore[no-any-return]

    def queries(self, rows: Tensor) -> Tensor:
        """(B, T, d) queries alone, for the context softmax."""
        d = rows.shape[-1]
        return functional.linear(rows, self.qkv.weight[:d], self.qkv.bias[:d])


class ContextAttention(nn.Module):
    """One layer's door to the cached context: own keys and values, own softmax, a gate a head that starts closed.

    With gate 0 the layer is exactly the plain biencoder's. Context rows carry no position, so their order is free.
    """

    def __init__(self, dimension: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.key_value = nn.Linear(dimension, 2 * dimension)
        self.gate = nn.Parameter(torch.zeros(n_heads))

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """(B, T, d) from queries (B, T, d) and the context's keys and values (J, d)."""
        mixed = attend(queries, keys[None], values[None], self.n_heads)
        heads: Tensor = mixed.unflatten(-1, (self.n_heads, -1))
        return (heads * torch.tanh(self.gate)[:, None]).flatten(2)

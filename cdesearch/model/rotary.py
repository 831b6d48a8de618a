"""Rotary position embedding (RoFormer, arXiv 2104.09864), the two halves of a head as pairs (GPT-NeoX style)."""

import torch
from torch import Tensor

from cdesearch.model.attention import Mask, attend

Rotation = tuple[Tensor, Tensor]  # cosines and sines, (T, 1, d / 2) for all heads alike or (T, heads, d / 2)


def rotation(turns: Tensor, head_dimension: int, theta: float, dtype: torch.dtype) -> Rotation:
    """The rotation of rows by `turns` (T, 1) or (T, heads), their positions; a row at 0 stays as it is."""
    # Angles are taken in fp32, whatever the model's precision: positions beyond 256 are not whole numbers in bf16.
    exponents = torch.arange(0, head_dimension, 2, device=turns.device, dtype=torch.float32) / head_dimension
    angles = turns.float()[..., None] * (1.0 / theta**exponents)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def attend_rotated(qkv: Tensor, n_heads: int, by: Rotation, mask: Mask) -> Tensor:
    """(B, T, d) from (B, T, 3 d), laid out (three, heads, dimension): queries and keys are rotated, values are not."""
    queries, keys, values = qkv.unflatten(-1, (3, n_heads, -1)).unbind(-3)
    return attend(_rotate(queries, by).flatten(2), _rotate(keys, by).flatten(2), values.flatten(2), n_heads, mask)


def _rotate(heads: Tensor, by: Rotation) -> Tensor:
    cosines, sines = by
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)

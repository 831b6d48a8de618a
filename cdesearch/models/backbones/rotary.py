"""Rotary position embedding (RoFormer, arXiv 2104.09864); the two halves of a head form the pairs, as in GPT-NeoX."""

import torch
from torch import Tensor

from cdesearch.models.backbones.attention import Mask, Projected, attend

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

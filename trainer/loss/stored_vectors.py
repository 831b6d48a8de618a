"""Vectors as an index stores them: rounded, or cut to their first components."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

SCALE = 4.0  # of unit vectors before tanh; a lower one rounds all numbers to zero, a higher one leaves no gradient


def quantised(vectors: Tensor, kind: Literal["none", "int8", "binary"], scale: float = SCALE) -> Tensor:
    """Unit vectors (n, d) of the unit vectors (n, d), rounded in the forward pass alone.

    `int8` is floor(127 tanh(scale x) + 1/2), and `binary` the sign of x, where zero counts as positive. The gradient is
    that of 127 tanh(scale x), and of tanh(scale x) (straight-through estimator: Bengio et al., 2013). pplx-embed, where
    x is not of unit length, has no scale.
    """
    if kind == "none":
        return vectors
    smooth = torch.tanh(scale * vectors.float())
    if kind == "int8":
        smooth = 127 * smooth
        rounded = torch.floor(smooth + 0.5)
    else:
        rounded = torch.where(vectors >= 0, 1.0, -1.0)
    return functional.normalize(smooth + (rounded - smooth).detach(), dim=-1)


def cut(vectors: Tensor, dimension: int) -> Tensor:
    """Unit vectors (n, `dimension`) of the first components of vectors (n, d) (Matryoshka: Kusupati et al., 2022)."""
    return functional.normalize(vectors[:, :dimension], dim=-1)

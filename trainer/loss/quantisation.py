"""Vectors as they are stored, rounded in the forward pass alone (straight-through estimator: Bengio et al., 2013)."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional


def quantised(vectors: Tensor, kind: Literal["none", "int8", "binary"], scale: float) -> Tensor:
    """Unit vectors (n, d) of the rounded unit vectors (n, d).

    `int8` is floor(127 tanh(scale x) + 1/2), and `binary` the sign of x, where zero counts as positive. The gradient is
    that of 127 tanh(scale x), and of tanh(scale x). (pplx-embed, where x is not of unit length and has no scale.)
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

"""The first components of vectors, as vectors of their own (Matryoshka: Kusupati et al., 2022)."""

from torch import Tensor
from torch.nn import functional


def cut(vectors: Tensor, dimension: int) -> Tensor:
    """Unit vectors (n, `dimension`) of the first components of vectors (n, d)."""
    return functional.normalize(vectors[:, :dimension], dim=-1)

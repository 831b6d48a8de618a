"""Convert those tensors of a stored state to 16 bits with which training continues almost as it would with 32 bits.

The moments of the optimizer are stored in bf16, which has the range of fp32, so that no small second moment becomes
zero. The weights from which training continues stay in fp32, because 16 bits cannot represent the change of a few
steps. The best weights, which are only exported, are stored in fp16.
"""

from typing import Any

import torch
from torch import Tensor


def to_small(state: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """A copy of nested dicts with every fp32 tensor of more than one number in `dtype`."""
    return {key: _mapped(value, torch.float32, dtype) for key, value in state.items()}


def from_small(state: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `to_small`: tensors in 16 bits become fp32."""
    for dtype in (torch.bfloat16, torch.float16):
        state = {key: _mapped(value, dtype, torch.float32) for key, value in state.items()}
    return state


def _mapped(value: Any, old: torch.dtype, new: torch.dtype) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(inner, old, new) for key, inner in value.items()}
    is_large = isinstance(value, Tensor) and value.dtype == old and value.numel() > 1
    return value.detach().to(new) if is_large else value

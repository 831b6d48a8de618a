"""The state of a run in fp16, which takes half the bytes. After a resume, training continues nearly as without it.

Each tensor is divided by its largest value first, so that small gradients do not vanish.
"""

from typing import Any

import torch
from torch import Tensor

# |exp_avg| <= 7.3 sqrt(exp_avg_sq) holds for Adam's usual betas. Second moments that fp16 has rounded to zero are
# raised to this bound. Otherwise the next step of their weights would be far too large.
BOUND = 8.0

SECOND_MOMENT = "exp_avg_sq"


def to_small(state: dict[str, Any]) -> dict[str, Any]:
    """A copy of nested dicts with every fp32 tensor of more than one number in fp16, and its scale."""
    return {key: _shrunk(value, key == SECOND_MOMENT) for key, value in state.items()}


def from_small(state: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `to_small`; values that are not in fp16 stay as they are."""
    restored = {key: _grown(value) for key, value in state.items()}
    if isinstance(state.get(SECOND_MOMENT), dict):
        restored[SECOND_MOMENT] = restored[SECOND_MOMENT].square().clamp(min=(restored["exp_avg"] / BOUND).square())
    return restored


def _shrunk(value: Any, is_square: bool) -> Any:
    if isinstance(value, dict):
        return to_small(value)
    if not isinstance(value, Tensor) or value.dtype != torch.float32 or value.numel() < 2:
        return value
    value = value.detach().sqrt() if is_square else value.detach()
    scale = float(value.abs().max()) or 1.0
    return {"half": (value / scale).half(), "scale": scale}


def _grown(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return value["half"].float() * value["scale"] if value.keys() == {"half", "scale"} else from_small(value)

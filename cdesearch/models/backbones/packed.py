"""Packing: texts end to end in one row without padding, for attention kernels that take the start of each text."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Packing:
    """B packed texts of N tokens together."""

    ids: Tensor  # (1, N)
    positions: Tensor  # (N,) of each token in its text
    text: Tensor  # (N,) index of each token's text
    bounds: Tensor  # (B + 1,) int32, the start of each text, and N
    longest: int  # tokens of the longest text

    def to(self, device: torch.device) -> "Packing":
        """A copy on another device; the host does not wait until the device has it."""
        host = self.ids, self.positions, self.text, self.bounds
        if device.type == "cuda":
            host = tuple(part.pin_memory() for part in host)  # type: ignore[assignment] # four, as before
        ids, positions, text, bounds = (part.to(device, non_blocking=True) for part in host)
        return Packing(ids, positions, text, bounds, self.longest)


def pack_texts(input_ids: Tensor, attention_mask: Tensor) -> Packing:
    """Pack padded ids (B, T) with their 0/1 mask (B, T)."""
    lengths = attention_mask.sum(1)
    ends = lengths.cumsum(0)
    text = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
    positions = torch.arange(len(text), device=lengths.device) - (ends - lengths)[text]
    bounds = functional.pad(ends, (1, 0)).to(torch.int32)
    return Packing(input_ids[attention_mask.bool()][None], positions, text, bounds, int(lengths.max()))


def attend_packed(queries: Tensor, keys: Tensor, values: Tensor, n_heads: int, packing: Packing) -> Tensor:
    """(1, N, d) from queries, keys and values (1, N, d); each text attends only to itself.

    Half precision on CUDA uses the kernel of flash-attn if it is installed, else torch's own. Anything else is computed
    text by text.
    """
    q, k, v = (x[0].unflatten(-1, (n_heads, -1)) for x in (queries, keys, values))  # (N, heads, d / heads)
    bounds, longest = packing.bounds, packing.longest
    mixed: Tensor
    if not has_kernel(q):
        spans = list(pairwise(bounds.tolist()))
        parts = (tuple(x[start:stop].transpose(0, 1) for x in (q, k, v)) for start, stop in spans)
        mixed = torch.cat([functional.scaled_dot_product_attention(*part).transpose(0, 1) for part in parts])
    elif _kernel() == "flash_attn":
        from flash_attn import flash_attn_varlen_func

        mixed = flash_attn_varlen_func(q, k, v, bounds, bounds, longest, longest)
    else:
        from torch.nn.attention.varlen import varlen_attn

        mixed = varlen_attn(q, k, v, bounds, bounds, longest, longest)  # type: ignore[assignment] # returns a pair only on request
    return mixed.flatten(1)[None]


def has_kernel(tensor: Tensor) -> bool:
    """Whether a kernel for packed texts supports this tensor; without one, padding is faster."""
    return tensor.is_cuda and tensor.dtype in (torch.bfloat16, torch.float16) and _kernel() is not None


@cache
def _kernel() -> str | None:
    """The name of the module with the kernel; None if neither is installed."""
    return next((name for name in ("flash_attn", "torch.nn.attention.varlen") if find_spec(name)), None)


def packed_mean(states: Tensor, weights: Tensor, packing: Packing) -> Tensor:
    """(B, d) weighted means of packed texts, from states (1, N, d) and weights (N,)."""
    n_texts = len(packing.bounds) - 1
    sums = states.new_zeros(n_texts, states.shape[-1]).index_add(0, packing.text, states[0] * weights[:, None])
    return sums / weights.new_zeros(n_texts).index_add(0, packing.text, weights).clamp_min(1e-9)[:, None]

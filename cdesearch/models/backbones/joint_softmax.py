"""One softmax over a text and its cached context: a variant for ablations."""

import math

import torch
from torch import Tensor

from cdesearch.models.backbones.attention import CachedRows, ContextAttention, Mask, Projected, attend

LEAST = 1e-9  # the least weight of a context, so that its logarithm is finite if the gate is 0


class JointSoftmaxAttention(ContextAttention):
    """A layer whose text attends to itself and to the context in one softmax.

    At equal scores, the weight is the ratio of the whole context to the whole text, for any T and J. The weight is
    LEAST * exp(gate), or in older checkpoints tanh(gate), whose gradient is zero at and below 0. With gate 0 it is
    LEAST, and the layer computes the same as a layer of a plain biencoder, within rounding.
    """

    def __init__(self, dimension: int, n_heads: int, *, log_gates: bool) -> None:
        super().__init__(dimension, n_heads)
        self._log_gates = log_gates

    @torch.no_grad()
    def set_weight(self, weight: float) -> None:
        """Set every gate so that the context has this weight, at least LEAST."""
        weight = max(weight, LEAST)
        self.gate.fill_(math.log(weight / LEAST) if self._log_gates else math.atanh(weight))

    def mix(self, text: Projected, context: CachedRows, mask: Mask) -> Tensor:
        """(B, T, d) from the text's projections and the context's keys and values (J, d); such texts are not packed."""
        keys, values, _ = context
        assert mask is None or isinstance(mask, Tensor)
        q, k, v = text
        n_texts, n_rows = k.shape[:2]
        of_text = q.new_zeros(n_texts, 1, 1, n_rows) if mask is None else mask.to(q.dtype)
        n_read = (of_text == 0).sum(-1, keepdim=True).clamp_min(1)
        if self._log_gates:
            log_counts = (self.gate + math.log(LEAST))[:, None, None] + (n_read / keys.shape[0]).log()
        else:
            log_counts = (torch.tanh(self.gate).clamp_min(LEAST)[:, None, None] * n_read / keys.shape[0]).log()
        bias = log_counts.to(q.dtype).expand(-1, -1, 1, keys.shape[0])
        both = torch.cat([bias, of_text.expand(-1, self.n_heads, -1, -1)], dim=-1)
        k, v = (
            torch.cat([of_context.to(own.dtype).expand(n_texts, -1, -1), own], dim=1)
            for of_context, own in ((keys, k), (values, v))
        )
        return attend(q, k, v, self.n_heads, both)

"""The context of a batch between the first and the second stage of the gradient cache."""

import torch
from torch import Tensor


class PreparedContext:
    """The context as the second stage reads it: leaf tensors that collect gradients, and the graph before them."""

    def __init__(
        self,
        vectors: Tensor,
        is_null: Tensor,
        cached: tuple[Tensor, Tensor] | None = None,
        norms: Tensor | None = None,
    ) -> None:
        self.vectors = vectors  # (J, *context_shape)
        self.is_null = is_null
        self._made = [part for part in (*(cached or ()), norms) if part is not None]
        self._leaves = [part.detach().requires_grad_() for part in self._made]
        self.keys: Tensor | None = self._leaves[0] if cached is not None else None
        self.values: Tensor | None = self._leaves[1] if cached is not None else None
        self.norms: Tensor | None = self._leaves[-1] if norms is not None else None

    def backward(self) -> None:
        """Run backward through the context pass, from the gradients that the leaves collected."""
        if self._made:
            collected = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in self._leaves]
            torch.autograd.backward(self._made, collected)

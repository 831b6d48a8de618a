"""Document context in training. The chunks of a document in the batch count as the whole document."""

import torch
from torch import Tensor
from torch.nn import functional


def in_document(own: Tensor, siblings: Tensor, weight: float) -> Tensor:
    """(n, d) unit vectors with document context, as `cdesearch.context.document` adds it, with gradients.

    `own` (n, d) are unit vectors; `siblings` (n,) are numbers below n that are equal for chunks of one document.
    """
    sums = torch.zeros_like(own).index_add(0, siblings, own)
    return functional.normalize(own + weight * functional.normalize(sums, dim=-1)[siblings], dim=-1)

"""Document context while training: a chunk's siblings in the batch are its document."""

import torch
from torch import Tensor
from torch.nn import functional


def in_document(own: Tensor, siblings: Tensor, weight: float) -> Tensor:
    """(n, d) unit vectors of chunks in their documents, as `cdesearch.context.document` makes them, with gradients.

    From own unit vectors (n, d) and numbers (n,), equal where two are chunks of one document.
    """
    sums = torch.zeros(int(siblings.max()) + 1, own.shape[1], device=own.device).index_add(0, siblings, own)
    return functional.normalize(own + weight * functional.normalize(sums, dim=-1)[siblings], dim=-1)

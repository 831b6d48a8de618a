"""False negatives by the model's own cosines."""

import torch
from torch import Tensor

ROWS = 128  # queries whose cosines are in memory at once


@torch.no_grad()
def beyond_margin(queries: Tensor, documents: Tensor, excluded: Tensor, margin: float) -> Tensor:
    """(B, D) `excluded`, and also true where a cosine exceeds that of the own document by more than `margin`.

    `queries` (B, d) and `documents` (D, d) are unit vectors, which get no gradient; document i < B belongs to query i.
    (pplx-embed, with a margin of .1.)
    """
    parts = []
    for rows in torch.arange(len(queries), device=queries.device).split(ROWS):
        cosines = queries[rows].float() @ documents.float().T
        parts.append(excluded[rows] | (cosines > cosines.gather(1, rows[:, None]) + margin))
    return torch.cat(parts)

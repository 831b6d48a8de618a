"""Which documents count against a query, beyond what the batch says: its queries, a margin, and a teacher's scope."""

import torch
from torch import Tensor

from trainer.data.training_batch import UNKNOWN

ROWS = 128  # queries whose cosines are in memory at once


def with_queries(
    queries: Tensor, documents: Tensor, excluded: Tensor, teacher: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Documents (D + B, d), excluded (D + B columns) and teacher after the queries (B, d) are added to the documents.

    A query does not count against another one if its document does not, nor against itself. The teacher gives queries
    no probability. (pplx-embed, pair stage.)
    """
    n = len(queries)
    itself = torch.eye(n, dtype=torch.bool, device=excluded.device)
    both = torch.cat([documents, queries])
    if teacher is not None:
        teacher = torch.cat([teacher, torch.full((n, n), UNKNOWN, device=teacher.device)], dim=1)
    return both, torch.cat([excluded, excluded[:, :n] | itself], dim=1), teacher


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


def among_own(teacher: Tensor, owners: Tensor) -> Tensor:
    """The teacher's logits (B, D) with probability 0 for the documents and hard negatives of other queries.

    `owners` (D,) are the rows of the queries to which the documents belong. The student's probabilities still extend
    over all documents (coCondenser, equations 15 and 16).
    """
    own = torch.arange(len(teacher), device=teacher.device)[:, None] == owners
    return teacher.masked_fill(~own, UNKNOWN)

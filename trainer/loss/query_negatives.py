"""The other queries of a batch as negatives, beside its documents."""

import torch
from torch import Tensor

from trainer.data.training_batch import UNKNOWN


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

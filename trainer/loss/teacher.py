"""The documents among which a teacher distributes its probability."""

import torch
from torch import Tensor

from trainer.data.training_batch import UNKNOWN


def among_own(teacher: Tensor, owners: Tensor) -> Tensor:
    """The teacher's logits (B, D) with probability 0 for the documents and hard negatives of other queries.

    `owners` (D,) are the rows of the queries to which the documents belong. The student's probabilities still extend
    over all documents (coCondenser, equations 15 and 16).
    """
    own = torch.arange(len(teacher), device=teacher.device)[:, None] == owners
    return teacher.masked_fill(~own, UNKNOWN)

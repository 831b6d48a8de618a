"""What a batch teaches: own documents closer than all others, and, with a teacher, how close (CDE equation 2)."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

EXCLUDED = -1e4  # as a logit: no probability, and no nan where a whole row is excluded


@dataclass(frozen=True, slots=True)
class Verdict:
    """A batch's loss and how often the own document came first."""

    loss: Tensor  # ()
    accuracy: Tensor  # ()


def contrastive(
    queries: Tensor,
    documents: Tensor,
    excluded: Tensor,
    temperature: float,
    teacher: Tensor | None = None,
    teacher_weight: float = 0.0,
) -> Verdict:
    """InfoNCE, query to document, over unit vectors (B, d) and (D, d); document i < B is query i's own.

    `excluded` (B, D) marks false negatives. `teacher` (B, D) are logits whose softmax the student's is drawn to by
    the Kullback-Leibler divergence, weighted `teacher_weight` against the rest (coCondenser, equations 15 and 16).
    """
    logits = (queries.float() @ documents.float().T / temperature).masked_fill(excluded, EXCLUDED)
    own = torch.arange(len(queries), device=queries.device)
    loss = functional.cross_entropy(logits, own)
    if teacher is not None and teacher_weight:
        soft = functional.log_softmax(teacher.masked_fill(excluded, EXCLUDED), dim=-1)
        student = functional.log_softmax(logits, dim=-1)
        divergence = functional.kl_div(student, soft, reduction="batchmean", log_target=True)
        loss = (1 - teacher_weight) * loss + teacher_weight * divergence
    return Verdict(loss, (logits.argmax(dim=1) == own).float().mean())

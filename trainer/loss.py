"""What a batch teaches: own documents closer than all others, and, with a teacher, how close (CDE equation 2)."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

ROWS = 128  # queries whose scores are held at once
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
    queries, documents = queries.float(), documents.float()
    own = torch.arange(len(queries), device=queries.device)
    losses, hits = [], []
    for rows in own.split(ROWS):
        taught = teacher[rows] if teacher is not None and teacher_weight else None
        given = (queries[rows], documents, excluded[rows], rows, temperature, taught, teacher_weight)
        # Scores of a block are made again for its gradient: memory grows with the vectors, not with their square.
        if len(own) > ROWS and torch.is_grad_enabled():
            loss, hit = checkpoint(_block, *given, use_reentrant=False)
        else:
            loss, hit = _block(*given)
        losses.append(loss)
        hits.append(hit)
    return Verdict(torch.stack(losses).sum() / len(own), torch.cat(hits).float().mean())


def _block(
    queries: Tensor,
    documents: Tensor,
    excluded: Tensor,
    own: Tensor,
    temperature: float,
    teacher: Tensor | None,
    teacher_weight: float,
) -> tuple[Tensor, Tensor]:
    """Summed loss () of some rows, and which of them rank their `own` (R,) document first."""
    logits = (queries @ documents.T / temperature).masked_fill(excluded, EXCLUDED)
    loss = functional.cross_entropy(logits, own, reduction="sum")
    if teacher is not None:
        soft = functional.log_softmax(teacher.masked_fill(excluded, EXCLUDED), dim=-1)
        student = functional.log_softmax(logits, dim=-1)
        divergence = functional.kl_div(student, soft, reduction="sum", log_target=True)
        loss = (1 - teacher_weight) * loss + teacher_weight * divergence
    return loss, logits.argmax(dim=1) == own

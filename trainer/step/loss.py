"""What a batch teaches: own documents closer than all others, and, with a teacher, how close (CDE equation 2)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

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
    loss, hits = torch.zeros((), device=queries.device), torch.empty_like(own, dtype=torch.bool)
    to_queries, to_documents = torch.zeros_like(queries), torch.zeros_like(documents)
    learns = torch.is_grad_enabled()
    for rows in own.split(ROWS):
        some, all_ = (x.detach().requires_grad_(learns) for x in (queries[rows], documents))
        taught = teacher[rows] if teacher is not None and teacher_weight else None
        summed, hits[rows] = _block(some, all_, excluded[rows], rows, temperature, taught, teacher_weight)
        # A block's gradient is taken at once, so that no more than its own scores are held.
        if learns:
            to_queries[rows], to_one_block = torch.autograd.grad(summed, (some, all_))
            to_documents += to_one_block
        loss += summed.detach()
    if learns:
        loss = _Known.apply(queries, documents, loss, to_queries, to_documents)  # type: ignore[no-untyped-call] # torch's
    return Verdict(loss / len(own), hits.float().mean())


class _Known(torch.autograd.Function):
    """The loss () of queries and documents, whose gradients are there already."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        _queries, _documents, loss, *gradients = given
        ctx.save_for_backward(*gradients)
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        to_queries, to_documents = ctx.saved_tensors
        return scale * to_queries, scale * to_documents, None, None, None


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
        soft = functional.log_softmax(teacher.masked_fill(excluded, EXCLUDED), dim=1)
        student = functional.log_softmax(logits, dim=1)
        divergence = functional.kl_div(student, soft, reduction="sum", log_target=True)
        loss = (1 - teacher_weight) * loss + teacher_weight * divergence
    return loss, logits.argmax(dim=1) == own

"""The contrastive loss of a batch (CDE equation 2) with an optional teacher, and which documents count in it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import UNKNOWN

ROWS = 128  # queries whose scores are in memory at once
EXCLUDED = -1e4  # the logit of an excluded document: probability 0, and no nan if a whole row is excluded


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


@dataclass(frozen=True, slots=True)
class LossOutput:
    """The loss of a batch, and the share of queries whose own document has the highest score."""

    loss: Tensor  # ()
    accuracy: Tensor  # ()


def contrastive(
    queries: Tensor,
    documents: Tensor,
    excluded: Tensor,
    temperature: float,
    teacher: Tensor | None = None,
    teacher_weight: float = 0.0,
) -> LossOutput:
    """InfoNCE, query to document, over unit vectors (B, d) and (D, d); document i < B belongs to query i.

    `excluded` (B, D) marks false negatives. `teacher` (B, D) are logits; the Kullback-Leibler divergence of the two
    softmaxes has the weight `teacher_weight`, and the InfoNCE loss the rest (coCondenser, equations 15 and 16).
    """
    queries, documents = queries.float(), documents.float()
    own = torch.arange(len(queries), device=queries.device)
    loss, hits = torch.zeros((), device=queries.device), torch.empty_like(own, dtype=torch.bool)
    to_queries, to_documents = torch.zeros_like(queries), torch.zeros_like(documents)
    with_gradient = torch.is_grad_enabled()
    for rows in own.split(ROWS):
        some, all_ = (x.detach().requires_grad_(with_gradient) for x in (queries[rows], documents))
        teacher_rows = teacher[rows] if teacher is not None and teacher_weight else None
        summed, hits[rows] = _block(some, all_, excluded[rows], rows, temperature, teacher_rows, teacher_weight)
        # The gradient of each block is computed at once, so that only the scores of one block are in memory.
        if with_gradient:
            to_queries[rows], to_one_block = torch.autograd.grad(summed, (some, all_))
            to_documents += to_one_block
        loss += summed.detach()
    if with_gradient:
        loss = _KnownGradient.apply(queries, documents, loss, to_queries, to_documents)  # type: ignore[no-untyped-call] # torch's
    return LossOutput(loss / len(own), hits.float().mean())


class _KnownGradient(torch.autograd.Function):
    """The loss () of queries and documents whose gradients are already computed."""

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
    """The summed loss () of some rows, and which of them rank their `own` (R,) document first."""
    logits = (queries @ documents.T / temperature).masked_fill(excluded, EXCLUDED)
    loss = functional.cross_entropy(logits, own, reduction="sum")
    if teacher is not None:
        soft = functional.log_softmax(teacher.masked_fill(excluded, EXCLUDED), dim=1)
        student = functional.log_softmax(logits, dim=1)
        divergence = functional.kl_div(student, soft, reduction="sum", log_target=True)
        loss = (1 - teacher_weight) * loss + teacher_weight * divergence
    return loss, logits.argmax(dim=1) == own

"""The contrastive loss of a batch (CDE equation 2) with an optional teacher, and which documents count in it."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import UNKNOWN

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
    cosines = queries.float() @ documents.float().T
    return excluded | (cosines > cosines.diagonal()[:, None] + margin)


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
    own = torch.arange(len(queries), device=queries.device)
    logits = (queries.float() @ documents.float().T / temperature).masked_fill(excluded, EXCLUDED)
    loss = functional.cross_entropy(logits, own)
    if teacher is not None and teacher_weight:
        soft = functional.log_softmax(teacher.masked_fill(excluded, EXCLUDED), dim=1)
        student = functional.log_softmax(logits, dim=1)
        divergence = functional.kl_div(student, soft, reduction="batchmean", log_target=True)
        loss = (1 - teacher_weight) * loss + teacher_weight * divergence
    return LossOutput(loss, (logits.argmax(dim=1) == own).float().mean())

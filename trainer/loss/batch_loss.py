"""The loss of one batch from its pooled vectors: whitening, document context, then the objective of the recipe."""

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import Batch, sent
from trainer.loss.contrastive import LossOutput, among_own, beyond_margin, contrastive, with_queries
from trainer.loss.whitening_head import WhiteningHead
from trainer.recipe import Objective


def in_document(own: Tensor, siblings: Tensor, weight: float) -> Tensor:
    """(n, d) unit vectors with document context, as `cdesearch.context.document` adds it, with gradients.

    The chunks of a document in the batch count as the whole document. `own` (n, d) are unit vectors; `siblings` (n,)
    are numbers below n that are equal for chunks of one document.
    """
    sums = torch.zeros_like(own).index_add(0, siblings, own)
    return functional.normalize(own + weight * functional.normalize(sums, dim=-1)[siblings], dim=-1)


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """Computes the loss from pooled vectors."""

    head: WhiteningHead
    document_weight: float  # the length of the document offset in the vectors of chunks
    temperature: float
    teacher_weight: float = 0.0
    objective: Objective = field(default_factory=Objective)

    def of(self, batch: Batch, queries: Tensor, documents: Tensor, context: Tensor | None) -> LossOutput:
        """The loss of pooled queries (B, d) and documents (D, d), whitened by the pooled context (J, d) if it is given.

        Without context the vectors are only normalised.
        """
        finish = partial(functional.normalize, dim=-1) if context is None else self.head.fitted(context)
        queries, documents = finish(queries), finish(documents)
        if batch.siblings is not None:
            documents = in_document(documents, sent(batch.siblings, documents.device), self.document_weight)
        excluded, teacher = sent(batch.excluded, queries.device), self._teacher(batch, queries.device)
        if self.objective.query_negatives:
            documents, excluded, teacher = with_queries(queries, documents, excluded, teacher)
        if self.objective.margin is not None:
            excluded = beyond_margin(queries, documents, excluded, self.objective.margin)
        weight = 0.0 if teacher is None else self.teacher_weight
        return contrastive(queries, documents, excluded, self.temperature, teacher, weight)

    def _teacher(self, batch: Batch, device: torch.device) -> Tensor | None:
        if batch.teacher is None or not self.teacher_weight:
            return None
        teacher = sent(batch.teacher, device)
        if self.objective.teacher_scope == "batch":
            return teacher
        assert batch.owners is not None
        return among_own(teacher, sent(batch.owners, device))

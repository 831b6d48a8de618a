"""The loss of one batch from its pooled vectors: whitening, document context, then the objective of the recipe."""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import Batch, sent
from trainer.loss.contrastive import LossOutput, contrastive
from trainer.loss.document import in_document
from trainer.loss.margin import beyond_margin
from trainer.loss.matryoshka import cut
from trainer.loss.quantisation import quantised
from trainer.loss.query_negatives import with_queries
from trainer.loss.teacher import among_own
from trainer.loss.whitening_head import WhiteningHead
from trainer.objective import Objective


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

        Without context the vectors are only normalised. With several widths the accuracy is that of the largest.
        """
        if context is None:
            queries, documents = (functional.normalize(pooled, dim=-1) for pooled in (queries, documents))
        else:
            queries, documents = map(self.head.fitted(context), (queries, documents))
        if batch.siblings is not None:
            documents = in_document(documents, sent(batch.siblings, documents.device), self.document_weight)
        kind, scale = self.objective.quantise, self.objective.quantise_scale
        queries, documents = quantised(queries, kind, scale), quantised(documents, kind, scale)
        excluded, teacher = sent(batch.excluded, queries.device), self._teacher(batch, queries.device)
        if not self.objective.matryoshka:
            return self._compared(queries, documents, excluded, teacher)
        outputs = [
            self._compared(cut(queries, width), cut(documents, width), excluded, teacher)
            for width in sorted(self.objective.matryoshka)
        ]
        return LossOutput(torch.stack([output.loss for output in outputs]).mean(), outputs[-1].accuracy)

    def _teacher(self, batch: Batch, device: torch.device) -> Tensor | None:
        if batch.teacher is None or not self.teacher_weight:
            return None
        teacher = sent(batch.teacher, device)
        if self.objective.teacher_scope == "batch":
            return teacher
        assert batch.owners is not None
        return among_own(teacher, sent(batch.owners, device))

    def _compared(self, queries: Tensor, documents: Tensor, excluded: Tensor, teacher: Tensor | None) -> LossOutput:
        """The loss of unit vectors, in one direction or in both; the teacher takes part in the first."""
        n = len(queries)
        asked = documents, excluded, teacher
        if self.objective.query_negatives:
            asked = with_queries(queries, *asked)
        there = self._one_way(queries, *asked)
        if not self.objective.symmetric:
            return there
        back = self._one_way(documents[:n], queries, excluded[:, :n].T, None)
        return LossOutput((there.loss + back.loss) / 2, there.accuracy)

    def _one_way(self, queries: Tensor, documents: Tensor, excluded: Tensor, teacher: Tensor | None) -> LossOutput:
        if self.objective.margin is not None:
            excluded = beyond_margin(queries, documents, excluded, self.objective.margin)
        weight = 0.0 if teacher is None else self.teacher_weight
        return contrastive(queries, documents, excluded, self.temperature, teacher, weight)

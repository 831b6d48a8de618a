"""The loss of one batch from its pooled vectors: whitening, document context, then the objective of the recipe."""

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import Batch, sent
from trainer.loss.contrastive import LossOutput, contrastive
from trainer.loss.long_documents import DOCUMENT_SHARE, SEQUENCE_SHARE, LongDocuments, in_document
from trainer.loss.negatives import among_own, beyond_margin, with_queries
from trainer.loss.stored_vectors import cut, quantised
from trainer.loss.whitening_head import WhiteningHead
from trainer.recipe import Objective


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """Computes the loss from pooled vectors."""

    head: WhiteningHead
    document_weight: float  # the length of the document offset in the vectors of chunks
    temperature: float
    teacher_weight: float = 0.0
    objective: Objective = field(default_factory=Objective)

    def of(
        self,
        batch: Batch,
        queries: Tensor,
        documents: Tensor,
        context: Tensor | None,
        share_of_documents: float | None = None,
    ) -> LossOutput:
        """The loss of pooled queries (B, d) and documents (D, d), whitened by the pooled context (J, d) if it is given.

        Without context the vectors are only normalised. With several widths the accuracy is that of the largest. The
        share of the loss over whole documents is that of the last step unless it is given.
        """
        finish = partial(functional.normalize, dim=-1) if context is None else self.head.fitted(context)
        parts = [finish(queries), finish(documents)]
        long = self._long_documents(batch, documents.device)
        if long is not None:
            parts.append(finish(long.whole(documents)))
        if batch.siblings is not None:
            parts[1] = in_document(parts[1], sent(batch.siblings, documents.device), self.document_weight)
        parts = [quantised(vectors, self.objective.quantise) for vectors in parts]
        excluded, teacher = sent(batch.excluded, queries.device), self._teacher(batch, queries.device)
        share = DOCUMENT_SHARE[1] if share_of_documents is None else share_of_documents

        def loss(queries: Tensor, chunks: Tensor, whole: Tensor | None = None) -> LossOutput:
            if long is None or whole is None:
                return self._compared(queries, chunks, excluded, teacher)
            local = self._local(queries, chunks, long.in_sequence(excluded), excluded, teacher)
            over_documents = self._compared(queries, whole, long.of_documents(excluded), None)
            return LossOutput(share * over_documents.loss + (1 - share) * local.loss, local.accuracy)

        if not self.objective.matryoshka:
            return loss(*parts)
        outputs = [loss(*(cut(vectors, width) for vectors in parts)) for width in sorted(self.objective.matryoshka)]
        return LossOutput(torch.stack([output.loss for output in outputs]).mean(), outputs[-1].accuracy)

    def _long_documents(self, batch: Batch, device: torch.device) -> LongDocuments | None:
        """The long documents of a batch; None if it has none, or if the loss does not compare them."""
        if batch.siblings is None or batch.token_counts is None or not self.objective.contextual:
            return None
        return LongDocuments(sent(batch.siblings, device), sent(batch.token_counts, device))

    def _local(
        self, queries: Tensor, chunks: Tensor, in_sequence: Tensor, excluded: Tensor, teacher: Tensor | None
    ) -> LossOutput:
        """The loss over chunks: a share of that within documents, and the rest that over all chunks of the batch."""
        weight = 0.0 if teacher is None else self.teacher_weight
        in_batch = contrastive(queries, chunks, excluded, self.temperature, teacher, weight)
        within = contrastive(queries, chunks, in_sequence, self.temperature)
        return LossOutput(SEQUENCE_SHARE * within.loss + (1 - SEQUENCE_SHARE) * in_batch.loss, in_batch.accuracy)

    def _teacher(self, batch: Batch, device: torch.device) -> Tensor | None:
        if batch.teacher is None or not self.teacher_weight:
            return None
        teacher = sent(batch.teacher, device)
        if self.objective.teacher_scope == "batch":
            return teacher
        assert batch.owners is not None
        return among_own(teacher, sent(batch.owners, device))

    def _compared(self, queries: Tensor, documents: Tensor, excluded: Tensor, teacher: Tensor | None) -> LossOutput:
        """The loss of unit vectors (B, d) and (D, d) by the objective of the recipe."""
        if self.objective.query_negatives:
            documents, excluded, teacher = with_queries(queries, documents, excluded, teacher)
        if self.objective.margin is not None:
            excluded = beyond_margin(queries, documents, excluded, self.objective.margin)
        weight = 0.0 if teacher is None else self.teacher_weight
        return contrastive(queries, documents, excluded, self.temperature, teacher, weight)

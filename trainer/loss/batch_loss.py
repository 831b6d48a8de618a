"""The loss of one batch from its pooled vectors: whitening, document context, then the contrastive loss."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import Batch, sent
from trainer.loss.contrastive import LossOutput, contrastive
from trainer.loss.document import in_document
from trainer.loss.whitening_head import WhiteningHead


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """Computes the loss from pooled vectors."""

    head: WhiteningHead
    document_weight: float  # the length of the document offset in the vectors of chunks
    temperature: float
    teacher_weight: float = 0.0

    def of(self, batch: Batch, queries: Tensor, documents: Tensor, context: Tensor | None) -> LossOutput:
        """The loss of pooled queries (B, d) and documents (D, d), whitened by the pooled context (J, d) if it is given.

        Without context the vectors are only normalised.
        """
        if context is None:
            queries, documents = (functional.normalize(pooled, dim=-1) for pooled in (queries, documents))
        else:
            queries, documents = self.head(queries, context), self.head(documents, context)
        if batch.siblings is not None:
            documents = in_document(documents, sent(batch.siblings, documents.device), self.document_weight)
        excluded = sent(batch.excluded, queries.device)
        teacher = None if batch.teacher is None else sent(batch.teacher, queries.device)
        return contrastive(queries, documents, excluded, self.temperature, teacher, self.teacher_weight)

"""The loss of one batch from its pooled vectors: whitening, document context, then the objective of the recipe.

With long documents, queries are also compared with them (L_global), and chunks lean towards their document. The losses
of the contextual stage of pplx-embed compare a query with the chunks of its own document (L_seq), with all chunks of
the batch (L_batch), and with whole documents. All are InfoNCE (CDE equation 2), with an optional teacher.

    L = b L_global + (1 - b) L_local      L_local = a L_seq + (1 - a) L_batch      b rises from step to step
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import UNKNOWN, Batch, sent
from trainer.loss.heads import WhiteningHead
from trainer.recipe import Objective

SCALE = 4.0  # of unit vectors before tanh; a lower one rounds all numbers to zero, a higher one leaves no gradient
SEQUENCE_SHARE = 0.2  # a
DOCUMENT_SHARE = (0.2, 0.5)  # b at the first and at the last step
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


def quantised(vectors: Tensor, kind: Literal["none", "int8", "binary"]) -> Tensor:
    """Unit vectors (n, d) of the unit vectors (n, d), rounded in the forward pass alone.

    `int8` is floor(127 tanh(SCALE x) + 1/2), and `binary` the sign of x, where zero counts as positive. The gradient is
    that of 127 tanh(SCALE x), and of tanh(SCALE x) (straight-through estimator: Bengio et al., 2013). pplx-embed, where
    x is not of unit length, has no scale.
    """
    if kind == "none":
        return vectors
    smooth = torch.tanh(SCALE * vectors.float())
    if kind == "int8":
        smooth = 127 * smooth
        rounded = torch.floor(smooth + 0.5)
    else:
        rounded = torch.where(vectors >= 0, 1.0, -1.0)
    return functional.normalize(smooth + (rounded - smooth).detach(), dim=-1)


def cut(vectors: Tensor, dimension: int) -> Tensor:
    """Unit vectors (n, `dimension`) of the first components of vectors (n, d) (Matryoshka: Kusupati et al., 2022)."""
    return functional.normalize(vectors[:, :dimension], dim=-1)


def document_share(step: int, n_steps: int) -> float:
    """b at the step with the number `step`, from 0, of `n_steps`: it rises in a half cosine."""
    done = min(1.0, step / max(1, n_steps - 1))
    first, last = DOCUMENT_SHARE
    return first + (last - first) * (1 - math.cos(math.pi * done)) / 2


def in_document(own: Tensor, siblings: Tensor, weight: float) -> Tensor:
    """(n, d) unit vectors with document context, as `cdesearch.context.document` adds it, with gradients.

    The chunks of a document in the batch count as the whole document. `own` (n, d) are unit vectors; `siblings` (n,)
    are numbers below n that are equal for chunks of one document.
    """
    sums = torch.zeros_like(own).index_add(0, siblings, own)
    return functional.normalize(own + weight * functional.normalize(sums, dim=-1)[siblings], dim=-1)


@dataclass(frozen=True, slots=True)
class LongDocuments:
    """The long documents of a batch whose D texts are chunks of them."""

    siblings: Tensor  # (D,) numbers below D that are equal for chunks of one document
    token_counts: Tensor  # (D,) how many tokens a chunk adds to its document; 0 for a chunk that occurs before it

    def whole(self, chunks: Tensor) -> Tensor:
        """(D, d) the mean of all tokens that the batch has of each chunk's document, from the means of the chunks."""
        counts = self.token_counts.to(chunks.dtype)[:, None]
        sums = torch.zeros_like(chunks).index_add(0, self.siblings, counts * chunks)
        totals = torch.zeros_like(counts).index_add(0, self.siblings, counts)
        return (sums / totals.clamp_min(1))[self.siblings]

    def in_sequence(self, excluded: Tensor) -> Tensor:
        """(B, D) `excluded` (B, D), and also true for the chunks of other documents than that of query i."""
        return excluded | (self.siblings[: len(excluded), None] != self.siblings)

    def of_documents(self, excluded: Tensor) -> Tensor:
        """(B, D) true where the document of a chunk must not count against a query.

        It is the query's own document, or has a chunk that is true in `excluded` (B, D). The first B columns are never
        true for the query of the same number.
        """
        n_queries, n = excluded.shape
        found = torch.zeros(n_queries, n, device=excluded.device).index_add(1, self.siblings, excluded.float())
        own = self.siblings[:n_queries]
        masked = (found[:, self.siblings] > 0) | (own[:, None] == self.siblings)
        return masked & ~torch.eye(n_queries, n, dtype=torch.bool, device=excluded.device)


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
        long: LongDocuments | None = None  # if the loss compares them
        if batch.siblings is not None and batch.token_counts is not None and self.objective.contextual:
            long = LongDocuments(sent(batch.siblings, documents.device), sent(batch.token_counts, documents.device))
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

    def _local(
        self, queries: Tensor, chunks: Tensor, in_sequence: Tensor, excluded: Tensor, teacher: Tensor | None
    ) -> LossOutput:
        """The loss over chunks: a share of that within documents, and the rest that over all chunks of the batch."""
        in_batch = contrastive(queries, chunks, excluded, self.temperature, teacher, self.teacher_weight)
        within = contrastive(queries, chunks, in_sequence, self.temperature)
        return LossOutput(SEQUENCE_SHARE * within.loss + (1 - SEQUENCE_SHARE) * in_batch.loss, in_batch.accuracy)

    def _teacher(self, batch: Batch, device: torch.device) -> Tensor | None:
        if batch.teacher is None or not self.teacher_weight:
            return None
        teacher = sent(batch.teacher, device)
        if self.objective.teacher_scope == "batch":
            return teacher
        # Documents and hard negatives of other queries have probability 0. That of the student still extends over all
        # documents (coCondenser, equations 15 and 16).
        assert batch.owners is not None
        own = torch.arange(len(teacher), device=device)[:, None] == sent(batch.owners, device)
        return teacher.masked_fill(~own, UNKNOWN)

    def _compared(self, queries: Tensor, documents: Tensor, excluded: Tensor, teacher: Tensor | None) -> LossOutput:
        """The loss of unit vectors (B, d) and (D, d) by the objective of the recipe."""
        if self.objective.query_negatives:
            documents, excluded, teacher = with_queries(queries, documents, excluded, teacher)
        if self.objective.margin is not None:  # excluded are also higher cosines than the own document's (pplx-embed)
            with torch.no_grad():
                cosines = queries.float() @ documents.float().T
                excluded = excluded | (cosines > cosines.diagonal()[:, None] + self.objective.margin)
        return contrastive(queries, documents, excluded, self.temperature, teacher, self.teacher_weight)

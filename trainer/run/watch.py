"""Measure whether the context is used: held-out losses with a batch's own context, that of another, and none."""

from collections.abc import Sequence

import torch

from trainer.data.training_batch import Batch, Tokens
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.loss.batch_loss import BatchLoss
from trainer.loss.whitening_head import TokenWeights
from trainer.step.gradcache import GradCache


@torch.no_grad()
def held_out_losses(
    cache: GradCache, loss: BatchLoss, weights: TokenWeights, batches: Sequence[Batch]
) -> dict[str, float]:
    """Mean losses with the `true` context, a `random` one (the next batch's) and the `null` context.

    Three equal losses mean that the model does not use its context. The loss has no teacher. If contexts are disjoint
    from their batches, `batch` is the loss with the documents of the batch as its context.
    """
    null = Tokens(*torch.ones(2, cache.model.config.null_slots, 1, dtype=torch.long))
    losses: dict[str, list[float]] = {}
    with evaluation_mode(cache.model):
        for number, batch in enumerate(batches):
            following = batches[(number + 1) % len(batches)]
            contexts: dict[str, tuple[Tokens, Batch | None]] = {
                "true": (batch.context_texts, batch),
                "random": (following.context_texts, following),
                "null": (null, None),
            }
            if batch.context_tokens is not None:
                contexts["batch"] = (batch.documents.take(batch.context), batch)
            for name, (texts, source) in contexts.items():
                table = weights.equal() if source is None else weights.of(source, loss.head)()
                queries, documents = cache.vectors(batch.in_context(texts, is_null=source is None), table)
                sample = None
                if source is not None:
                    own = documents if source is batch else cache.vectors(source.in_context(texts), table)[1]
                    sample = own[source.context]
                losses.setdefault(name, []).append(loss.of(batch, queries, documents, sample).loss.item())
    return {name: sum(values) / len(values) for name, values in losses.items()}

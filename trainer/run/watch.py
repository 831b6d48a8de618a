"""Is the context used? Losses of held-out batches with their own context, another batch's, and none."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from cdesearch.models.backbones.joint import Shared
from cdesearch.models.contextual.model import Cached, ContextualModel
from trainer.data.batch import Batch, Tokens
from trainer.step.document import in_document
from trainer.step.loss import contrastive
from trainer.step.token_weights import TokenWeights
from trainer.step.whitening_head import StatisticsHead

Held = Shared | Cached | None


@torch.no_grad()
def held_out_losses(
    model: ContextualModel,
    head: StatisticsHead,
    weights: TokenWeights,
    batches: Sequence[Batch],
    temperature: float,
    micro_batch: int,
) -> dict[str, float]:
    """Mean loss with `true`, `random` (the next batch's) and `null` context; all three alike: it is not used."""
    model.eval()
    device = next(model.parameters()).device
    losses: dict[str, list[float]] = {"true": [], "random": [], "null": []}
    for number, batch in enumerate(batches):
        excluded = batch.excluded.to(device)
        stranger = batches[(number + 1) % len(batches)]
        for name, source in {"true": batch, "random": stranger, "null": None}.items():
            context = None if source is None else source.documents.take(source.context)
            table = weights.equal() if source is None else weights.of(source, head)()
            held = embed_context(model, context, micro_batch, device)
            queries, documents = (
                embed(model, texts, held, table, micro_batch) for texts in (batch.queries, batch.documents)
            )
            if context is None:
                queries, documents = (torch.nn.functional.normalize(x, dim=-1) for x in (queries, documents))
            else:
                own = name == "true"
                sample = documents[batch.context] if own else embed(model, context, held, table, micro_batch)
                queries, documents = head(queries, sample), head(documents, sample)
            if batch.siblings is not None:
                documents = in_document(documents, batch.siblings.to(device), model.config.document_weight)
            losses[name].append(contrastive(queries, documents, excluded, temperature).loss.item())
    model.train()
    return {name: sum(values) / len(values) for name, values in losses.items()}


def embed_context(model: ContextualModel, context: Tokens | None, micro_batch: int, device: torch.device) -> Held:
    """What texts see of a context of texts; of none, or where no gate is open, the null context."""
    if context is None or not model.reads_context:
        vectors = torch.zeros(max(1, model.context_rows), model.config.backbone.dimension, device=device)
    else:
        vectors = torch.cat([model.first_stage(part.ids, part.mask) for part in _parts(context, micro_batch, device)])
    is_null = torch.full((len(vectors),), context is None, device=device)
    return model.prepare_context(vectors, is_null, model.cache(vectors, is_null))


def embed(model: ContextualModel, texts: Tokens, held: Held, weights: Tensor, micro_batch: int) -> Tensor:
    """(n, d) pooled vectors of `texts`."""
    parts = _parts(texts, micro_batch, weights.device)
    return torch.cat([model.pooled(part.ids, part.mask, weights[part.ids] * part.mask, held) for part in parts])


def _parts(tokens: Tokens, micro_batch: int, device: torch.device) -> list[Tokens]:
    return [
        tokens.rows(start, min(start + micro_batch, len(tokens))).to(device)
        for start in range(0, len(tokens), micro_batch)
    ]


def without_dropout(batches: Sequence[Batch]) -> list[Batch]:
    """The same batches with every context slot filled."""
    return [replace(batch, is_null=torch.zeros_like(batch.is_null)) for batch in batches]

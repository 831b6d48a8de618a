"""Measure whether the context is used: held-out losses with a batch's own context, that of another, and none."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cdesearch.models.backbones.bert import pool_chunks
from cdesearch.models.contextual.model import ContextualModel, PreparedContext
from trainer.data.training_batch import Batch, Tokens
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.loss.batch_loss import BatchLoss
from trainer.loss.token_weights import TokenWeights


@torch.no_grad()
def held_out_losses(
    model: ContextualModel, loss: BatchLoss, weights: TokenWeights, batches: Sequence[Batch], micro_batch: int
) -> dict[str, float]:
    """Mean losses with the `true` context, a `random` one (the next batch's) and the `null` context.

    Three equal losses mean that the model does not use its context. The loss has no teacher. If contexts are disjoint
    from their batches, `batch` is the loss with the documents of the batch as its context.
    """
    device = next(model.parameters()).device
    losses: dict[str, list[float]] = {}
    with evaluation_mode(model):
        for number, batch in enumerate(batches):
            following = batches[(number + 1) % len(batches)]
            sources: dict[str, Batch | None] = {"true": batch, "random": following, "null": None}
            if batch.context_tokens is not None:
                sources["batch"] = batch.with_own_context()
            for name, source in sources.items():
                table = weights.equal() if source is None else weights.of(source, loss.head)()
                context = embed_context(model, None if source is None else source.context_texts, micro_batch, device)
                queries = embed(model, batch.queries, context, table, micro_batch)
                documents = embed_documents(model, batch, context, table, micro_batch)
                sample = documents[batch.context] if name in ("true", "batch") else None
                if name == "random":
                    other = embed_documents(model, following, context, table, micro_batch)
                    sample = other[following.context]
                losses.setdefault(name, []).append(loss.of(batch, queries, documents, sample).loss.item())
    return {name: sum(values) / len(values) for name, values in losses.items()}


def embed_context(
    model: ContextualModel, context: Tokens | None, micro_batch: int, device: torch.device
) -> PreparedContext:
    """The context of some texts, in the form that `ContextualModel.pooled` takes; without texts the null context.

    If every gate is zero, the texts are not encoded, because nothing reads them.
    """
    if context is None or not model.reads_context:
        vectors = torch.zeros(model.config.null_slots, model.config.backbone.dimension, device=device)
    else:
        vectors = torch.cat([model.first_stage(part.ids, part.mask) for part in _parts(context, micro_batch, device)])
    is_null = torch.full((len(vectors),), context is None, device=device)
    return model.prepare_context(vectors, is_null, model.cache(vectors, is_null))


def embed(model: ContextualModel, texts: Tokens, context: PreparedContext, weights: Tensor, micro_batch: int) -> Tensor:
    """(n, d) pooled vectors of `texts`."""
    parts = _parts(texts, micro_batch, weights.device)
    return torch.cat([model.pooled(part.ids, part.mask, weights[part.ids] * part.mask, context) for part in parts])


def embed_documents(
    model: ContextualModel, batch: Batch, context: PreparedContext, weights: Tensor, micro_batch: int
) -> Tensor:
    """(D, d) pooled vectors of the documents of a batch, which are read in windows if it has any."""
    windows = batch.windows
    if windows is None:
        return embed(model, batch.documents, context, weights, micro_batch)
    assert context is None or isinstance(context, tuple)  # joint attention reads no windows
    keys, values = context or (None, None)
    vectors = []
    for rows in torch.arange(len(windows.tokens), device=weights.device).split(windows.micro_batch(micro_batch)):
        part = windows.tokens.rows(int(rows[0]), int(rows[-1]) + 1).to(weights.device)
        belongs = windows.belongs(rows, part.ids.shape[1], weights.device)
        states = model.window_states(part.ids, belongs, keys, values)
        vectors.append(pool_chunks(states, belongs * weights[part.ids][:, None]))
    return torch.cat(vectors).flatten(0, 1)[windows.at.to(weights.device)]


def _parts(tokens: Tokens, micro_batch: int, device: torch.device) -> list[Tokens]:
    starts = range(0, len(tokens), micro_batch)
    return [tokens.rows(start, min(start + micro_batch, len(tokens))).to(device) for start in starts]

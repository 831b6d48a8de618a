"""Is the context used? Losses of held-out batches with their own context, another batch's, and none."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from cdesearch.model.backbone import mean_pool
from cdesearch.model.contextual import ContextualModel
from trainer.batch import Batch, Tokens
from trainer.loss import contrastive
from trainer.statistics_head import StatisticsHead
from trainer.weights import TokenWeights


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
    losses: dict[str, list[float]] = {"true": [], "random": [], "null": []}
    for number, batch in enumerate(batches):
        stranger = batches[(number + 1) % len(batches)]
        for name, context in {
            "true": batch.documents.take(batch.context),
            "random": stranger.documents.take(stranger.context),
            "null": None,
        }.items():
            source = stranger if name == "random" else batch
            table = weights.of(source, head)() if context is not None else weights.equal()
            queries, documents, sample = (
                embed(model, tokens, context, table, micro_batch) if tokens is not None else None
                for tokens in (batch.queries, batch.documents, context)
            )
            assert queries is not None and documents is not None
            if sample is not None:
                queries, documents = head(queries, sample), head(documents, sample)
            else:
                queries, documents = (torch.nn.functional.normalize(x, dim=-1) for x in (queries, documents))
            verdict = contrastive(queries, documents, batch.excluded.to(queries.device), temperature)
            losses[name].append(verdict.loss.item())
    model.train()
    return {name: sum(values) / len(values) for name, values in losses.items()}


def embed(model: ContextualModel, texts: Tokens, context: Tokens | None, weights: Tensor, micro_batch: int) -> Tensor:
    """(n, d) pooled vectors of `texts` in a context of texts, or in the null context."""
    stage, device = model.second_stage, weights.device
    d = model.config.backbone.dimension
    if context is None:
        vectors = torch.zeros(1, d, device=device)
    else:
        vectors = torch.cat([model.first_stage(part.ids, part.mask) for part in _parts(context, micro_batch, device)])
    is_null = torch.full((len(vectors),), context is None, device=device)
    held = None if stage.joint else stage.cache(vectors, is_null)
    pooled = []
    for part in _parts(texts, micro_batch, device):
        if held is None:
            states = stage.joint_states(part.ids, part.mask, vectors, is_null)
        else:
            states = stage.states(part.ids, part.mask, *held)
        pooled.append(mean_pool(states, weights[part.ids] * part.mask))
    return torch.cat(pooled)


def _parts(tokens: Tokens, micro_batch: int, device: torch.device) -> list[Tokens]:
    return [
        tokens.rows(start, min(start + micro_batch, len(tokens))).to(device)
        for start in range(0, len(tokens), micro_batch)
    ]


def without_dropout(batches: Sequence[Batch]) -> list[Batch]:
    """The same batches with every context slot filled."""
    return [replace(batch, is_null=torch.zeros_like(batch.is_null)) for batch in batches]

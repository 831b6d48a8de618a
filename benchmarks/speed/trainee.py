"""Single training steps without a recipe, a log or packing."""

import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from cdesearch.encode.load import load_tokenizer
from trainer.data.pairs.domains import prepare
from trainer.data.training_batch import Batch, tokenize
from trainer.recipe import ModelChoice
from trainer.run.watch import embed, embed_context
from trainer.schema import parse
from trainer.starting import starting_model
from trainer.step.batch_loss import BatchLoss
from trainer.step.gradcache import GradCache, LossFn
from trainer.step.token_weights import context_frequencies
from trainer.step.whitening_head import WhiteningHead

MAX_TOKENS = 64
MICRO_BATCH = 32
TEMPERATURE = 0.05
RATE = 2e-5


class Trainee:
    """A start model with its optimizer, to take single steps with."""

    def __init__(
        self,
        start: Path,
        *,
        contextual: bool,
        attention: str = "cached",
        frozen: bool = False,
        micro_batch: int = MICRO_BATCH,
        device: str = "cpu",
        precision: torch.dtype = torch.float32,
    ) -> None:
        choice = {"start": start, "contextual": contextual, "context_attention": attention}
        self.model = starting_model(parse(ModelChoice, {**choice, "freeze_first_stage": frozen})).to(device)
        self.head = WhiteningHead(self.model.config.statistics).to(device)
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.AdamW(trained, RATE)
        self._cache = GradCache(self.model, self.head, micro_batch, freeze_first_stage=frozen, precision=precision)
        self._contextual = contextual
        self._loss = BatchLoss(self.head, self.model.config.document_weight, TEMPERATURE)
        self._weights = torch.ones(self.model.config.backbone.vocabulary, device=device)

    def step(self, batch: Batch) -> None:
        """Take a step with the gradient cache."""
        batch = self._own(batch)
        self._optimizer.zero_grad(set_to_none=True)
        self._cache.step(batch, lambda: self._weights, self._loss_fn(batch))
        self._optimizer.step()

    def plain_step(self, batch: Batch) -> None:
        """Take a step with the whole graph in memory."""
        batch = self._own(batch)
        self._optimizer.zero_grad(set_to_none=True)
        context = batch.documents.take(batch.context) if batch.is_contextual else None
        frequencies = context_frequencies(batch, self.model.config.backbone.vocabulary)
        prepared = embed_context(self.model, context, frequencies, len(batch.documents), self._weights.device)
        queries, documents = (
            embed(self.model, tokens, prepared, self._weights, len(tokens))
            for tokens in (batch.queries, batch.documents)
        )
        self._loss_fn(batch)(queries, documents, documents[batch.context]).loss.backward()
        self._optimizer.step()

    def _own(self, batch: Batch) -> Batch:
        """The batch; every context slot is null if the model does not use context."""
        return batch if self._contextual else replace(batch, is_null=batch.is_null | True)

    def _loss_fn(self, batch: Batch) -> LossFn:
        return lambda queries, documents, context: self._loss.of(
            batch, queries, documents, context if self._contextual else None
        )


def read_batch(pairs: Path, model: Path, size: int, context_size: int = 1) -> Batch:
    """The first `size` pairs of a file as one batch; the first documents are its context."""
    rows = first_pairs(pairs, size)
    tokenizer = load_tokenizer(model / "tokenizer.json")
    return Batch(
        queries=tokenize(tokenizer, [query for query, _ in rows], "", MAX_TOKENS),
        documents=tokenize(tokenizer, [document for _, document in rows], "", MAX_TOKENS),
        context=torch.arange(context_size),
        is_null=torch.zeros(context_size, dtype=torch.bool),
        excluded=torch.zeros(len(rows), len(rows), dtype=torch.bool),
    )


def first_pairs(pairs: Path, size: int) -> list[tuple[str, str]]:
    """The query and document of the first `size` pairs of a file."""
    with tempfile.TemporaryDirectory() as folder:
        found = prepare([pairs], Path(folder))[0].take(list(range(size)))
    return [(pair.query, pair.document) for pair in found]

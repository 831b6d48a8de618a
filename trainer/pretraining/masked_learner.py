"""The kinds `condenser` and `cocondenser`: masked tokens through the head, and with `cocondenser` spans in contrast.

    loss = mean over chosen tokens of (loss of the head + loss of the last layer) + mean over spans of the contrast

The contrast needs all spans of the batch, and the loss of tokens only those of its own text, so the gradient cache
computes the first and each micro-batch the second, in one backward pass (coCondenser, equation 8).
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from cdesearch.models.published_weights import read_weights
from trainer.data.training_batch import Tokens
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.export import export
from trainer.pretraining.condenser import Condenser, CondenserHead
from trainer.pretraining.head_file import load_head, save_head
from trainer.pretraining.masked_tokens import published_decoder
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.pretraining.span_contrast import Contrast, contrast_spans
from trainer.pretraining.span_passes import Passing, SpanPasses
from trainer.pretraining.spans import Spans, SpanSampler
from trainer.pretraining.token_documents import Rows, TokenDocuments
from trainer.pretraining.vocabulary import Vocabulary
from trainer.run.folder import HEAD
from trainer.start import is_published, start_model
from trainer.step import cached_pass
from trainer.step.cached_pass import CachedPass
from trainer.step.parameter_groups import Groups

HELD_OUT_DOCUMENTS = 256  # whose losses are measured


class MaskedLearner:
    """A backbone of this project, its head, and the spans of the texts."""

    def __init__(self, recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> None:
        """Load the start and its head; raises ModelError, InputError."""
        assert recipe.model.start is not None
        self._recipe = recipe
        self._start = recipe.model.start
        self.device = device
        self.digest = documents.digest
        self._model = start_model(self._start) if is_published(self._start) else load_checkpoint(self._start)
        self._condenser = _condenser(recipe, self._model).to(device)
        self._passing = Passing(device, recipe.learning.precision, recipe.objective.late_mlm)
        self._contrasts = recipe.objective.kind == "cocondenser"
        trained, held_out = documents.divided(recipe.texts.held_out, recipe.run.seed)
        self._trained = self._sampler(documents, trained)
        self._held_out = self._sampler(documents, held_out)
        if len(trained) < 2:
            remedy = "Name more files in texts.files." if len(documents) < 2 else "Lower texts.held_out."
            raise InputError("Pretraining needs at least two documents to train on.", remedy)

    @property
    def modules(self) -> dict[str, nn.Module]:
        return {"network": self._condenser.backbone, "head": self._condenser.head}

    @property
    def groups(self) -> Groups:
        return {
            name: [one for one in module.parameters() if one.requires_grad] for name, module in self.modules.items()
        }

    def add_gradient(self, step: int) -> Mapping[str, Tensor]:
        return self.add_gradient_of(self._trained.of_step(step, self._recipe.learning.size))

    def add_gradient_of(self, spans: Spans) -> Mapping[str, Tensor]:
        """Add the gradient of some spans to `.grad`; returns figures ()."""
        passes = SpanPasses.of(self._condenser, spans, self._passing)
        if not self._contrasts:
            for rows, part in self._parts(spans):
                passes.with_loss(part.to(self.device), rows.to(self.device)).loss.backward()
            return {"loss": passes.loss, **passes.losses}
        shape = (self._model.config.backbone.dimension,)
        micro_batch = self._recipe.learning.micro_batch
        made = CachedPass(passes, spans.tokens, cached_pass.Passing(self.device, micro_batch, shape))
        vectors = made.vectors.requires_grad_()
        contrast = self._contrast(vectors)
        contrast.loss.backward()
        assert vectors.grad is not None
        made.replay(vectors.grad)
        loss = contrast.loss.detach()
        return {"loss": loss + passes.loss, "contrast": loss, "accuracy": contrast.accuracy, **passes.losses}

    @torch.no_grad()
    def held_out(self) -> Mapping[str, float]:
        if not len(self._held_out.rows):
            return {}
        spans = self._held_out.of_all(HELD_OUT_DOCUMENTS)
        passes = SpanPasses.of(self._condenser, spans, self._passing)
        parts = self._parts(spans)
        with evaluation_mode(self._condenser):
            made = [passes.with_loss(part.to(self.device), rows.to(self.device)).vectors for rows, part in parts]
        order = torch.cat([rows for rows, _ in parts]).argsort().to(self.device)
        found = {name: loss.item() for name, loss in passes.losses.items()}
        if self._contrasts and len(self._held_out.rows) > 1:  # the span of a single document has none to differ from
            found["contrast"] = self._contrast(torch.cat(made)[order]).loss.item()
        return found

    def save(self, out: Path) -> Path:
        save_head(self._condenser.head, out / HEAD)
        folder = out / "checkpoint"
        export(self._model, self._start / "tokenizer.json", folder)
        return folder

    def _parts(self, spans: Spans) -> list[tuple[Tensor, Tokens]]:
        return spans.tokens.micro_batches(slice(0, len(spans.tokens)), self._recipe.learning.micro_batch)

    def _contrast(self, vectors: Tensor) -> Contrast:
        return contrast_spans(vectors, self._recipe.objective.contrast, self._recipe.objective.temperature)

    def _sampler(self, documents: TokenDocuments, rows: Rows) -> SpanSampler:
        recipe, objective = self._recipe, self._recipe.objective
        backbone = self._model.config.backbone
        if recipe.learning.max_tokens > backbone.n_positions:
            raise InputError(
                f"learning.max_tokens is {recipe.learning.max_tokens}, and the model has {backbone.n_positions}"
                " positions.",
                "Lower it.",
            )
        tokenizer = load_tokenizer(self._start / "tokenizer.json")
        vocabulary = Vocabulary.of(tokenizer, backbone.vocabulary, objective.mask_token)
        length, per_document = recipe.learning.max_tokens, 2 if self._contrasts else 1
        return SpanSampler(
            documents, rows, vocabulary, length, objective.mask_share, per_document, seed=recipe.run.seed
        )


def _condenser(recipe: PretrainingRecipe, model: ContextualModel) -> Condenser:
    """The backbone of the start with its head, in training mode; raises ModelError, InputError."""
    config, start = model.config.backbone, recipe.model.start
    early = config.n_layers // 2 if recipe.objective.early_layers is None else recipe.objective.early_layers
    if not 0 < early < config.n_layers:
        raise InputError(
            f"Of {config.n_layers} layers, {early} cannot be the early ones.",
            "Set objective.early_layers to a number that leaves at least one late layer.",
        )
    head = CondenserHead(config, recipe.objective.head_layers)
    if recipe.model.head is not None:
        load_head(head, recipe.model.head)
    elif start is not None and is_published(start):
        shapes = {name: tensor.shape for name, tensor in head.decoder.state_dict().items()}
        if decoder := published_decoder(read_weights(start), shapes):
            head.decoder.load_state_dict(decoder)
    condenser = Condenser(model.second_stage.backbone, head, early, recipe.objective.slot)
    for module in condenser.modules():
        if isinstance(module, nn.Dropout):
            module.p = recipe.model.dropout
    condenser.backbone.tokens.requires_grad_(not recipe.model.freeze_tokens)
    return condenser.train()

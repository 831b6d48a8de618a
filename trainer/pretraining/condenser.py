"""The kinds `condenser` and `cocondenser`: masked tokens through the head, and with `cocondenser` spans in contrast.

The head predicts masked tokens from early states of the tokens and the vector of the whole text. The late layers
influence it through the vector alone, so they learn to put into it what the early states lack (Gao & Callan, 2021). The
head is only used in pretraining. coCondenser adds a contrast of spans (Gao & Callan, 2022).

    loss = mean over chosen tokens of (loss of the head + loss of the last layer) + mean over spans of the contrast

The contrast needs all spans of the batch, and the loss of tokens only those of its own text, so the gradient cache
computes the first and each micro-batch the second, in one backward pass (coCondenser, equation 8).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError, ModelError
from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool
from cdesearch.models.backbones.packed import Packing
from cdesearch.models.config import BackboneConfig
from trainer.data.store import Integers
from trainer.execution import evaluation_mode
from trainer.export import export
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.pretraining.texts import Spans, SpanSampler, TokenDocuments, Vocabulary
from trainer.replacing import replacing, writing
from trainer.start import open_start
from trainer.step.cached_pass import CachedPass, Made, Passing, Text, WithLoss

HEAD_LAYERS = 2
DEVIATION = 0.02  # of new weights, as in BERT
HEAD = "head.safetensors"  # beside the checkpoint, without which another run cannot continue
HELD_OUT_DOCUMENTS = 256  # whose losses are measured


class MaskedTokenDecoder(nn.Module):
    """States (m, d) to logits (m, V), with the token embeddings of the network as the last matrix (BERT)."""

    def __init__(self, dimension: int, vocabulary: int, norm_eps: float) -> None:
        super().__init__()
        self.transform = nn.Linear(dimension, dimension)
        self.norm = nn.LayerNorm(dimension, norm_eps)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        """(m, V) logits from states (m, d) and the embeddings (V, d) of all tokens, which belong to the network."""
        rows = self.norm(functional.gelu(self.transform(states)))
        return functional.linear(rows, tokens, self.bias).float()


class CondenserHead(nn.Module):
    """New layers, and the decoder of masked tokens, which the late layers share with them."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(HEAD_LAYERS))
        self.decoder = MaskedTokenDecoder(config.dimension, config.vocabulary, config.norm_eps)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=DEVIATION)
                nn.init.zeros_(module.bias)


class States(NamedTuple):
    """The vectors (B, d) of texts, and the states (B, T, d) of their tokens after the last and the early layers."""

    vectors: Tensor
    late: Tensor
    early: Tensor


class Condenser(nn.Module):
    """A backbone with its head, which takes the states of the tokens after half of the layers."""

    def __init__(self, backbone: Backbone, head: CondenserHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def states(self, ids: Tensor, mask: Tensor) -> States:
        """The states of texts (B, T) with 0/1 mask."""
        early = rows = self.backbone.embed(ids)
        added = additive_mask(mask, rows.dtype)
        for number, block in enumerate(self.backbone.blocks, start=1):
            rows = block(rows, added)
            if number == len(self.backbone.blocks) // 2:
                early = rows
        return States(mean_pool(rows, mask), rows, early)

    def head_states(self, states: States, mask: Tensor) -> Tensor:
        """(B, T, d) states after the head, which reads the vector in the place of the first token."""
        rows = torch.cat([states.vectors[:, None].to(states.early.dtype), states.early[:, 1:]], 1)
        added = additive_mask(mask, rows.dtype)
        for block in self.head.blocks:
            rows = block(rows, added)
        return rows

    def losses(self, states: States, mask: Tensor, ids: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """The sums () of the losses of the tokens that are `chosen` (B, T), from the head and from the last layer."""
        wanted, tokens = ids[chosen], self.backbone.tokens.weight
        of_head, late = (
            functional.cross_entropy(self.head.decoder(rows[chosen], tokens), wanted, reduction="sum")
            for rows in (self.head_states(states, mask), states.late)
        )
        return of_head, late


def contrast_spans(vectors: Tensor, kind: Literal["product", "cosine"], temperature: float) -> tuple[Tensor, Tensor]:
    """The mean loss () over spans (2n, d), of which 2i and 2i + 1 are of one document, and the share () that finds it.

    Each span finds the other one of its document among all spans of the batch: -log of exp(<h, h'>) over the sum of
    exp(<h, k>) for all spans k but h (coCondenser, equation 6). Scores are divided by the temperature.
    """
    vectors = vectors.float()
    if kind == "cosine":
        vectors = functional.normalize(vectors, dim=-1)
    n = len(vectors)
    scores = (vectors @ vectors.T) / temperature
    scores = scores.masked_fill(torch.eye(n, dtype=torch.bool, device=scores.device), -torch.inf)
    other = torch.arange(n, device=scores.device) ^ 1
    return functional.cross_entropy(scores, other), (scores.argmax(1) == other).float().mean()


class MaskedLearner:
    """A backbone of this project, its head, and the spans of the texts."""

    def __init__(self, recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> None:
        """Load the start and its head; raises ModelError, InputError."""
        assert recipe.model.start is not None
        self.recipe = recipe
        self.device = device
        self.start = recipe.model.start
        self._model = open_start(self.start)
        config = self._model.config.backbone
        if recipe.learning.max_tokens > config.n_positions:
            most = recipe.learning.max_tokens
            raise InputError(
                f"learning.max_tokens is {most}, and the model has {config.n_positions} positions.", "Lower it."
            )
        head = CondenserHead(config)
        if recipe.model.head is not None:
            load_head(head, recipe.model.head)
        self.condenser = Condenser(self._model.second_stage.backbone, head).to(device).train()
        for module in self.condenser.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.1  # as in BERT
        self.condenser.backbone.tokens.requires_grad_(not recipe.model.freeze_tokens)
        self.modules: dict[str, nn.Module] = {"network": self.condenser.backbone, "head": head}
        self._contrasts = recipe.objective.kind == "cocondenser"
        trained, held_out = documents.divided(recipe.texts.held_out, recipe.run.seed)
        if len(trained) < 2:
            raise InputError("Pretraining needs at least two documents to train on.", "Name more in texts.files.")
        self._trained, self._held_out = self._sampler(documents, trained), self._sampler(documents, held_out)

    def add_gradient(self, step: int) -> Mapping[str, Tensor]:
        """Add the gradient of a step to `.grad`; returns figures (), of which `loss` is the loss."""
        spans = self._trained.of_step(step, self.recipe.learning.size)
        passes, micro_batch = SpanPasses(self.condenser, spans, self.recipe), self.recipe.learning.micro_batch
        if not self._contrasts:
            for rows, part in spans.tokens.micro_batches(micro_batch):
                passes.with_loss(part.to(self.device), rows.to(self.device)).loss.backward()
            return {"loss": passes.loss, **passes.losses}
        shape = (self._model.config.backbone.dimension,)
        made = CachedPass(passes, spans.tokens, Passing(self.device, micro_batch, shape))
        vectors = made.vectors.requires_grad_()
        contrast, accuracy = self._contrast(vectors)
        contrast.backward()
        assert vectors.grad is not None
        made.replay(vectors.grad)
        contrast = contrast.detach()
        return {"loss": contrast + passes.loss, "contrast": contrast, "accuracy": accuracy, **passes.losses}

    @torch.no_grad()
    def held_out(self) -> Mapping[str, float]:
        """The losses of the held-out texts by name, without dropout; empty if no texts are held out."""
        if not len(self._held_out.rows):
            return {}
        spans = self._held_out.of_all(HELD_OUT_DOCUMENTS)
        passes = SpanPasses(self.condenser, spans, self.recipe)
        parts = spans.tokens.micro_batches(self.recipe.learning.micro_batch)
        with evaluation_mode(self.condenser):
            made = [passes.with_loss(part.to(self.device), rows.to(self.device)).vectors for rows, part in parts]
        order = torch.cat([rows for rows, _ in parts]).argsort().to(self.device)
        found = {name: loss.item() for name, loss in passes.losses.items()}
        if self._contrasts and len(self._held_out.rows) > 1:  # the span of a single document has none to differ from
            found["contrast"] = self._contrast(torch.cat(made)[order])[0].item()
        return found

    def save(self, out: Path) -> None:
        """Write the checkpoint and the head into the folder of the run; raises StorageError."""
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.modules["head"].state_dict().items()}
        with writing(out / HEAD), replacing(out / HEAD) as stream:
            stream.write(save(state))
        export(self._model, self.start / "tokenizer.json", out / "checkpoint")

    def _contrast(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        return contrast_spans(vectors, self.recipe.objective.contrast, self.recipe.objective.temperature)

    def _sampler(self, documents: TokenDocuments, rows: Integers) -> SpanSampler:
        tokenizer, size = load_tokenizer(self.start / "tokenizer.json"), self._model.config.backbone.vocabulary
        vocabulary = Vocabulary.of(tokenizer, size, self.recipe.objective.mask_token)
        per_document, seed = 2 if self._contrasts else 1, self.recipe.run.seed
        return SpanSampler(documents, rows, vocabulary, self.recipe.learning.max_tokens, per_document, seed)


class SpanPasses:
    """A network for the gradient cache, and the losses of tokens so far, each as a mean over all spans of the step."""

    def __init__(self, condenser: Condenser, spans: Spans, recipe: PretrainingRecipe) -> None:
        self._condenser = condenser
        self._device = next(condenser.parameters()).device
        self._ids, self._chosen = spans.ids.to(self._device), spans.chosen.to(self._device)  # (N, T) of all spans
        self._is_half = recipe.learning.precision == "bf16"
        self.losses = {name: torch.zeros((), device=self._device) for name in ("head", "late")}

    @property
    def loss(self) -> Tensor:
        return self.losses["head"] + self.losses["late"]

    def __call__(self, text: Text, rows: Tensor) -> Made:
        """Vectors (B, d) of the spans `rows`; with gradients also their part of the loss of tokens."""
        if torch.is_grad_enabled():
            return self.with_loss(text, rows)
        assert not isinstance(text, Packing)
        with self._cast():
            return self._condenser.states(text.ids, text.mask).vectors.float()

    def with_loss(self, text: Text, rows: Tensor) -> WithLoss:
        """Vectors (B, d) of the spans `rows`, and their part of the loss of tokens, which is added to `losses`."""
        assert not isinstance(text, Packing)
        length, n_chosen = text.ids.shape[1], self._chosen.sum()
        with self._cast():
            states = self._condenser.states(text.ids, text.mask)
            sums = self._condenser.losses(states, text.mask, self._ids[rows, :length], self._chosen[rows, :length])
        for name, one in zip(self.losses, sums, strict=True):
            self.losses[name] += one.detach() / n_chosen
        return WithLoss(states.vectors.float(), sum(sums) / n_chosen)

    def _cast(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._is_half)


def load_head(head: nn.Module, file: Path) -> None:
    """Give a head the tensors of `file`; raises ModelError if they are not those of a head of this shape."""
    try:
        head.load_state_dict(load_file(file))
    except (OSError, SafetensorError, RuntimeError) as error:  # RuntimeError: of torch, for other names or shapes
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{file} is not the head of this model ({reason:.200}).",
            "Set model.start to the checkpoint beside it, or leave model.head out.",
        ) from None

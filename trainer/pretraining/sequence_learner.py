"""The kinds `causal` and `diffusion`: a network in the shape of Qwen3 learns to predict tokens of sequences."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from trainer.data.random_stream import random_stream
from trainer.data.training_batch import Tokens
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.pretraining.decoder_network import (
    DecoderNetwork,
    draw_weights,
    load_network,
    new_network,
    save_network,
)
from trainer.pretraining.learner import autocast
from trainer.pretraining.next_tokens import Noised, add_noise, causal_loss, diffusion_loss
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.pretraining.token_documents import TokenDocuments
from trainer.pretraining.token_windows import TokenWindows
from trainer.pretraining.vocabulary import Vocabulary
from trainer.step.parameter_groups import Groups


class SequenceLearner:
    """The network, and the sequences of the texts."""

    def __init__(self, recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> None:
        """Load or draw the network; raises ModelError, InputError."""
        self._recipe = recipe
        self.device = device
        self.digest = documents.digest
        self._causal = recipe.objective.kind == "causal"
        self._tokenizer = tokenizer_file(recipe)
        tokenizer = load_tokenizer(self._tokenizer)
        self._network = _network(recipe, tokenizer).to(device).train()
        size = self._network.transformer.config.vocab_size
        vocabulary = Vocabulary.of(tokenizer, size, None if self._causal else recipe.objective.mask_token)
        self._mask = vocabulary.mask
        separator = (*vocabulary.closing, *vocabulary.opening, *sorted(tokenizer.get_added_tokens_decoder()), 0)[0]
        self._trained, self._held_out = (
            TokenWindows.of(
                documents, rows, separator, recipe.learning.max_tokens, recipe.objective.cut_share, recipe.run.seed
            )
            for rows in documents.divided(recipe.texts.held_out, recipe.run.seed)
        )
        if not len(self._trained.ids):
            raise InputError(
                f"The texts have fewer than {recipe.learning.max_tokens} tokens.", "Lower learning.max_tokens."
            )

    @property
    def modules(self) -> dict[str, nn.Module]:
        return {"network": self._network}

    @property
    def groups(self) -> Groups:
        return {"network": list(self._network.parameters())}

    def add_gradient(self, step: int) -> Mapping[str, Tensor]:
        tokens = self._trained.of_step(step, self._recipe.learning.size)
        total = torch.zeros((), device=self.device)
        for loss in self._losses(tokens, random_stream(self._recipe.run.seed, "noise", step)):
            loss.backward()
            total += loss.detach()
        return {"loss": total}

    @torch.no_grad()
    def held_out(self) -> Mapping[str, float]:
        if not len(self._held_out.ids):
            return {}
        with evaluation_mode(self._network):
            losses = self._losses(self._held_out.of_all(), random_stream(self._recipe.run.seed, "noise of held-out"))
            return {self._recipe.objective.kind: sum(loss.item() for loss in losses)}

    def save(self, out: Path) -> Path:
        folder = out / "checkpoint"
        save_network(self._network, self._tokenizer, folder, causal=self._causal)
        return folder

    def _losses(self, tokens: Tokens, random: np.random.Generator) -> Iterator[Tensor]:
        """The losses () of micro-batches, whose sum is the mean over all sequences."""
        noised = None if self._mask is None else add_noise(tokens, self._mask, random)
        for start in range(0, len(tokens), self._recipe.learning.micro_batch):
            rows = slice(start, start + self._recipe.learning.micro_batch)
            part = Tokens(tokens.ids[rows], tokens.mask[rows]).to(self.device)
            with autocast(self.device, self._recipe.learning.precision):
                if noised is None:
                    loss = causal_loss(self._network, part)
                else:
                    loss = diffusion_loss(self._network, part, Noised(*(one[rows].to(self.device) for one in noised)))
            yield loss / len(tokens)


def tokenizer_file(recipe: PretrainingRecipe) -> Path:
    """The tokenizer of a recipe: that of the start, or the one of a new network; raises InputError without it."""
    start, own = recipe.model.start, recipe.network.tokenizer
    if start is not None:
        if not start.is_dir():
            raise InputError(f"model.start is {start}, and there is no such folder.", "Name the folder of a model.")
        return start / "tokenizer.json"
    assert own is not None
    if not own.exists():
        raise InputError(
            f"network.tokenizer is {own}, and there is no such file.", "Name the tokenizer.json of a model."
        )
    return own


def _network(recipe: PretrainingRecipe, tokenizer: Tokenizer) -> DecoderNetwork:
    if recipe.model.start is not None:
        return load_network(recipe.model.start, recipe.network)
    network = new_network(recipe.network, tokenizer.get_vocab_size(with_added_tokens=True))
    draw_weights(network, recipe.run.seed)
    return network

"""The kind `diffusion`: a network in the shape of Qwen3 learns to restore masked tokens of sequences.

Tokens are masked with a probability t that is drawn for each sequence, and each masked one is predicted from both
directions, by the state before it. The loss of a sequence is divided by t (pplx-embed; Nie et al., 2025: LLaDA).

The library transformers computes the network. Its checkpoint folder has the format of pplx-embed, so the checkpoint of
a run embeds texts as a published one does.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from cdesearch.models.pplx.family import MODEL_TYPE, read_folder
from cdesearch.models.pplx.network import PplxNetwork, load_network
from trainer.data.store import Integers, random_stream
from trainer.data.training_batch import Tokens, padded
from trainer.execution import evaluation_mode
from trainer.pretraining.recipe import NetworkSizes, PretrainingRecipe
from trainer.pretraining.texts import TokenDocuments, Vocabulary
from trainer.replacing import replace_folder

ROPE = {"rope_type": "default", "rope_theta": 1e6}
SIZES = {  # from a key of the recipe to its name in config.json
    "n_layers": "num_hidden_layers",
    "dimension": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_key_value_heads": "num_key_value_heads",
    "head_dimension": "head_dim",
    "inner": "intermediate_size",
}
POSITIONS = 32_768  # rotary positions need no memory
LEAST_SHARE = 0.001  # of t
CUT_SHARE = 0.01  # of sequences that are cut at a random length
EVALUATED = 64  # held-out sequences whose loss is measured


def new_network(sizes: NetworkSizes, vocabulary: int, seed: int) -> PplxNetwork:
    """A network with random weights that follow from `seed`."""
    import transformers

    config = transformers.Qwen3Config(
        vocab_size=vocabulary,
        **{name: getattr(sizes, key) for key, name in SIZES.items()},
        max_position_embeddings=POSITIONS,
        rope_parameters=ROPE,
    )
    network = PplxNetwork(transformers.Qwen3Model(config))
    torch.manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
    return network


def save_network(network: PplxNetwork, tokenizer: Path, folder: Path) -> None:
    """Replace `folder` by a checkpoint; raises StorageError."""
    config = network.transformer.config
    copied = (*SIZES.values(), "vocab_size", "max_position_embeddings", "rms_norm_eps")
    fields = {name: getattr(config, name) for name in copied} | {
        "architectures": ["PPLXQwen3Model"],
        "model_type": MODEL_TYPE,
        "attention_bias": False,
        "hidden_act": "silu",
        "rope_parameters": ROPE,
        "tie_word_embeddings": True,
    }
    state = {name: one.detach().cpu().contiguous() for name, one in network.transformer.state_dict().items()}

    def write(unfinished: Path) -> None:
        unfinished.mkdir(parents=True)
        (unfinished / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
        save_file(state, unfinished / "model.safetensors")
        shutil.copymode(unfinished / "config.json", unfinished / "model.safetensors")
        shutil.copyfile(tokenizer, unfinished / "tokenizer.json")

    replace_folder(folder, write)


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """W windows (W, L) of tokens. The sequences of any step follow from the seed and the step alone."""

    ids: Integers
    seed: int

    @classmethod
    def of(cls, documents: TokenDocuments, rows: Integers, separator: int, length: int, seed: int) -> "TokenWindows":
        """Windows of the documents `rows`, with a separator after each; what is left at the end is dropped."""
        parts = [part for row in rows for part in (*documents.passages_of(int(row)), np.array([separator]))]
        stream = np.concatenate([np.empty(0, np.int64), *parts])
        return cls(stream[: len(stream) // length * length].reshape(-1, length), seed)

    def of_step(self, step: int, size: int) -> Tokens:
        """At most `size` different windows. Every epoch has another order."""
        size = min(size, len(self.ids))
        epoch, place = divmod(step, len(self.ids) // size)
        order = random_stream(self.seed, "order of windows", epoch).permutation(len(self.ids))
        random = random_stream(self.seed, "cut windows", step)
        rows = self.ids[order[place * size : (place + 1) * size]]
        lengths = random.integers(2, rows.shape[1] + 1, len(rows))
        is_cut = random.random(len(rows)) < CUT_SHARE
        return padded([row[:length] if cut else row for row, length, cut in zip(rows, lengths, is_cut, strict=True)])


class Noised(NamedTuple):
    """Sequences with masked tokens: what is read (n, T), which tokens are masked (n, T), and with which t (n,)."""

    read: Tensor
    masked: Tensor
    t: Tensor


def add_noise(tokens: Tokens, mask: int, random: np.random.Generator) -> Noised:
    """Mask tokens of sequences (n, T) with a probability t, drawn evenly from LEAST_SHARE to 1 for each sequence."""
    t = torch.from_numpy(random.uniform(LEAST_SHARE, 1.0, len(tokens)).astype(np.float32))
    drawn = torch.from_numpy(random.random(tuple(tokens.ids.shape), dtype=np.float32))
    masked = (drawn < t[:, None]) & tokens.mask.bool()
    return Noised(torch.where(masked, mask, tokens.ids), masked, t)


def sequence_loss(network: PplxNetwork, tokens: Tokens, noised: Noised) -> Tensor:
    """The sum () of the losses of sequences (n, T), with the embeddings as the last matrix.

    Each is (1 / t) times the sum over its masked tokens, over its length less one. The first token has none before it,
    and counts in neither.
    """
    states = network.token_states(noised.read, tokens.mask, None)
    places = noised.masked[:, 1:]
    logits = functional.linear(states[:, :-1][places], network.transformer.embed_tokens.weight).float()
    losses = functional.cross_entropy(logits, tokens.ids[:, 1:][places], reduction="none")
    weights = 1.0 / (noised.t * (tokens.mask.sum(1) - 1).clamp_min(1))
    return (losses * weights[:, None].expand_as(places)[places]).sum()


class SequenceLearner:
    """The network, and the sequences of the texts."""

    def __init__(self, recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> None:
        """Load or draw the network; raises ModelError, InputError."""
        self.recipe = recipe
        self.device = device
        self.start = recipe.model.start
        self._tokenizer = tokenizer_file(recipe)
        tokenizer = load_tokenizer(self._tokenizer)
        if self.start is not None:
            network = load_network(self.start, read_folder(self.start)[0])
        else:
            network = new_network(recipe.network, tokenizer.get_vocab_size(with_added_tokens=True), recipe.run.seed)
        self._network = network.to(device).train()
        self.modules: dict[str, nn.Module] = {"network": network}
        vocabulary = Vocabulary.of(tokenizer, network.transformer.config.vocab_size, recipe.objective.mask_token)
        self._mask = vocabulary.mask
        separator = (*vocabulary.closing, *vocabulary.opening, *sorted(tokenizer.get_added_tokens_decoder()), 0)[0]
        length, seed = recipe.learning.max_tokens, recipe.run.seed
        self._trained, self._held_out = (
            TokenWindows.of(documents, rows, separator, length, seed)
            for rows in documents.divided(recipe.texts.held_out, seed)
        )
        if not len(self._trained.ids):
            raise InputError(f"The texts have fewer than {length} tokens.", "Lower learning.max_tokens.")

    def add_gradient(self, step: int) -> Mapping[str, Tensor]:
        """Add the gradient of a step to `.grad`; returns the loss ()."""
        tokens = self._trained.of_step(step, self.recipe.learning.size)
        total = torch.zeros((), device=self.device)
        for loss in self._losses(tokens, random_stream(self.recipe.run.seed, "noise", step)):
            loss.backward()
            total += loss.detach()
        return {"loss": total}

    @torch.no_grad()
    def held_out(self) -> Mapping[str, float]:
        """The loss of the held-out texts under the name of the kind; empty if no texts are held out."""
        if not len(self._held_out.ids):
            return {}
        tokens, random = padded(list(self._held_out.ids[:EVALUATED])), random_stream(self.recipe.run.seed, "held out")
        with evaluation_mode(self._network):
            return {self.recipe.objective.kind: sum(loss.item() for loss in self._losses(tokens, random))}

    def save(self, out: Path) -> None:
        """Write the checkpoint into the folder of the run; raises StorageError."""
        save_network(self._network, self._tokenizer, out / "checkpoint")

    def _losses(self, tokens: Tokens, random: np.random.Generator) -> Iterator[Tensor]:
        """The losses () of micro-batches, whose sum is the mean over all sequences."""
        noised = add_noise(tokens, self._mask, random)
        size, is_half = self.recipe.learning.micro_batch, self.recipe.learning.precision == "bf16"
        for start in range(0, len(tokens), size):
            rows = slice(start, start + size)
            part = Tokens(tokens.ids[rows], tokens.mask[rows]).to(self.device)
            noise = Noised(*(one[rows].to(self.device) for one in noised))
            with torch.autocast(self.device.type, torch.bfloat16, enabled=is_half):
                yield sequence_loss(self._network, part, noise) / len(tokens)


def tokenizer_file(recipe: PretrainingRecipe) -> Path:
    """The tokenizer of a recipe: that of the start, or the one of a new network."""
    start = recipe.model.start
    file = recipe.network.tokenizer if start is None else start / "tokenizer.json"
    assert file is not None
    return file

"""The settings of pretraining, stored in one TOML file: texts alone, without queries."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cdesearch.errors import InputError
from trainer.recipe import CLIP, DECAY, RATE, SHARE, TEMPERATURE
from trainer.recipe_file import found, parse_recipe, read_recipe_file
from trainer.schema import at_least, between, count, parse, to_plain

Kind = Literal["condenser", "cocondenser", "causal", "diffusion"]
MOST_PARAMETERS = 5_000_000_000  # of a new network without its token embeddings: with AdamW, 80 GB in fp32
DOCUMENTED = "See trainer/pretraining/recipe.py for every key."


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The texts to learn from."""

    files: list[Path]  # pair files, of which only the documents are read: .jsonl, .jsonl.gz, .parquet, or folders
    leave_out: list[str] = field(default_factory=list)  # domains (file names without suffix)
    cap: int | None = field(default=None, metadata=count(1))  # documents of a file, its first ones; None: all
    held_out: float = field(default=0.02, metadata=SHARE)  # share of the documents, for the held-out losses


@dataclass(frozen=True, kw_only=True)
class Start:
    """The model to begin with."""

    # For condenser and cocondenser a cdesearch checkpoint or the folder of a BERT; for causal and diffusion the
    # checkpoint of such a run, or None: a new network with the sizes of [network].
    start: Path | None = None
    head: Path | None = None  # head.safetensors of an earlier run, which belongs to `start`; None: a new head
    freeze_tokens: bool = False  # do not train the token embeddings
    dropout: float = field(default=0.1, metadata=SHARE)


@dataclass(frozen=True, kw_only=True)
class NetworkSizes:
    """The sizes of a network in the shape of Qwen3, for causal and diffusion; a start must have those that are set."""

    tokenizer: Path | None = None  # tokenizer.json
    n_layers: int = field(default=8, metadata=count(1, 128))
    dimension: int = field(default=512, metadata=count(2, 8192))
    n_heads: int = field(default=8, metadata=count(1, 128))
    n_key_value_heads: int = field(default=4, metadata=count(1, 128))
    head_dimension: int = field(default=64, metadata=count(2, 512))
    inner: int = field(default=1536, metadata=count(1, 32_768))
    # The names of the keys that the recipe sets.
    set_keys: frozenset[str] = field(default=frozenset(), compare=False, metadata={"set_keys": True})

    @property
    def parameters(self) -> int:
        """The number of parameters in the matrices of all layers."""
        attention = 2 * (self.n_heads + self.n_key_value_heads) * self.head_dimension
        return self.n_layers * self.dimension * (attention + 3 * self.inner)


@dataclass(frozen=True, kw_only=True)
class PretrainingObjective:
    """What is learned from the texts."""

    kind: Kind
    # A special token of the tokenizer, or another one that no text contains. With causal it is not used.
    mask_token: str = "[MASK]"
    mask_share: float = field(default=0.15, metadata=between(0.01, 0.9))  # of the tokens of a span, in whole words
    head_layers: int = field(default=2, metadata=count(1, 24))
    # After how many layers the head takes the states of the tokens; None: half of them.
    early_layers: int | None = field(default=None, metadata=count(1))
    # The vector of a span, which the head reads in the place of its first token: the state of that token, or the mean.
    slot: Literal["cls", "mean"] = "mean"
    late_mlm: bool = True  # also predict masked tokens from the states of the last layer
    # With cocondenser: what the contrast of spans compares. The paper has the product at temperature 1.
    contrast: Literal["product", "cosine"] = "product"
    temperature: float = field(default=1.0, metadata=TEMPERATURE)
    cut_share: float = field(default=0.01, metadata=SHARE)  # with causal and diffusion: of sequences cut at random


@dataclass(frozen=True, kw_only=True)
class PretrainingSteps:
    """Steps and rates."""

    steps: int = field(metadata=count(1))
    size: int = field(default=128, metadata=count(2))  # documents of a step, or sequences with causal and diffusion
    max_tokens: int = field(default=128, metadata=count(8))  # of a span or a sequence, special tokens included
    rate: float = field(default=1e-4, metadata=RATE)
    # First steps, in which only the head is trained: a new head would otherwise spoil the network.
    head_warmup: int = field(default=0, metadata=count(0))
    warmup: int = field(default=100, metadata=count(0))
    schedule: Literal["linear", "wsd"] = "linear"
    cooldown: float = field(default=0.2, metadata=SHARE)
    decay: float = field(default=0.01, metadata=DECAY)
    beta2: float = field(default=0.98, metadata=between(0, 0.9999))  # of AdamW
    clip: float = field(default=1.0, metadata=CLIP)
    precision: Literal["fp32", "bf16"] = "fp32"
    micro_batch: int = field(default=32, metadata=count(1))  # spans or sequences


@dataclass(frozen=True, kw_only=True)
class PretrainingFolders:
    """The folder of the run, and its reports."""

    out: Path
    seed: int = field(default=0, metadata=between(0, 2**31 - 1))
    checkpoint_minutes: float = field(default=5.0, metadata=at_least(0))
    watch_every: int = field(default=100, metadata=count(1))  # steps between two held-out losses


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe:
    """All settings of a run."""

    texts: Texts
    objective: PretrainingObjective
    learning: PretrainingSteps
    run: PretrainingFolders
    model: Start = field(default_factory=Start)
    network: NetworkSizes = field(default_factory=NetworkSizes)


def load_pretraining_recipe(file: Path, overrides: dict[str, str] | None = None) -> PretrainingRecipe:
    """Read a recipe; `overrides` are `section.key` to TOML values. Raises an InputError that names the nearest key.

    A relative path of a text file that does not exist is looked for in the folder that CDESEARCH_DATA names.
    """
    recipe = parse_recipe(PretrainingRecipe, read_recipe_file(file, overrides or {}), file, DOCUMENTED)
    check_kind(recipe, str(file))
    return replace(recipe, texts=replace(recipe.texts, files=found(recipe.texts.files)))


def check_kind(recipe: PretrainingRecipe, name: str) -> None:
    """Raise InputError, which begins with `name`, unless the recipe has what its kind begins with."""
    kind, model = recipe.objective.kind, recipe.model
    if kind in ("condenser", "cocondenser"):
        if model.start is None:
            raise InputError(f"{name}: {kind} needs model.start.", "Name a checkpoint, or the folder of a BERT.")
        return
    if model.start is None and recipe.network.tokenizer is None:
        raise InputError(
            f"{name}: a new network for {kind} needs network.tokenizer.", "Name a tokenizer.json, or set model.start."
        )
    if model.head is not None:
        raise InputError(f"{name}: {kind} has no head.", "Leave model.head out.")
    if recipe.network.n_heads % recipe.network.n_key_value_heads or recipe.network.head_dimension % 2:
        raise InputError(
            f"{name}: network.n_heads must be a multiple of n_key_value_heads, and head_dimension even.",
            "Correct these numbers.",
        )
    if model.start is None and recipe.network.parameters > MOST_PARAMETERS:
        raise InputError(
            f"{name}: the new network would have {recipe.network.parameters:,} parameters, and at most"
            f" {MOST_PARAMETERS:,} are possible.",
            "Lower network.n_layers, network.dimension or network.inner.",
        )


def pretraining_to_json(recipe: PretrainingRecipe) -> str:
    """The recipe as one line of JSON."""
    return json.dumps(to_plain(recipe))


def pretraining_from_json(text: str) -> PretrainingRecipe:
    """The inverse of `pretraining_to_json`; raises SchemaError."""
    return parse(PretrainingRecipe, json.loads(text))

"""The settings of pretraining, stored in one TOML file: texts alone, without queries."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from cdesearch.errors import InputError
from trainer.recipe import Count, Rate, Section, Seed, Share, Temperature, found, parse_recipe, read_recipe_file

Kind = Literal["condenser", "cocondenser", "diffusion"]
DOCUMENTED = "See trainer/pretraining/recipe.py for every key."


class Texts(Section, frozen=True):
    """The texts to learn from."""

    files: list[Path]  # pair files, of which only the documents are read: .jsonl, .jsonl.gz, .parquet, or folders
    cap: Count | None = None  # documents of a file, its first ones; None: all
    held_out: Share = 0.02  # share of the documents, for the held-out losses


class Start(Section, frozen=True):
    """The model to begin with."""

    # For condenser and cocondenser a cdesearch checkpoint or the folder of a BERT; for diffusion the checkpoint of such
    # a run, the folder of a Qwen3, or None: a new network with the sizes of [network].
    start: Path | None = None
    head: Path | None = None  # head.safetensors of an earlier run, which belongs to `start`; None: a new head
    freeze_tokens: bool = False  # do not train the token embeddings


class NetworkSizes(Section, frozen=True):
    """The sizes of a new network in the shape of Qwen3, for diffusion."""

    tokenizer: Path | None = None  # tokenizer.json
    n_layers: Annotated[int, Meta(ge=1, le=128)] = 8
    dimension: Annotated[int, Meta(ge=2, le=8192)] = 512
    n_heads: Annotated[int, Meta(ge=1, le=128)] = 8
    n_key_value_heads: Annotated[int, Meta(ge=1, le=128)] = 4
    head_dimension: Annotated[int, Meta(ge=2, le=512, multiple_of=2)] = 64
    inner: Annotated[int, Meta(ge=1, le=32_768)] = 1536


class PretrainingObjective(Section, frozen=True):
    """What is learned from the texts."""

    kind: Kind
    # A special token of the tokenizer, or another one that no text contains.
    mask_token: str = "[MASK]"
    # With cocondenser: what the contrast of spans compares. The paper has the product at temperature 1.
    contrast: Literal["product", "cosine"] = "product"
    temperature: Temperature = 1.0


class PretrainingSteps(Section, frozen=True):
    """Steps and rates."""

    steps: Count
    size: Annotated[int, Meta(ge=2, le=1_000_000)] = 128  # documents of a step, or sequences of diffusion
    max_tokens: Annotated[int, Meta(ge=8, le=1_000_000)] = 128  # of a span or sequence, special tokens included
    rate: Rate = 1e-4
    # First steps, in which only the head is trained: a new head would otherwise spoil the network.
    head_warmup: Annotated[int, Meta(ge=0)] = 0
    warmup: Annotated[int, Meta(ge=0)] = 100
    precision: Literal["fp32", "bf16"] = "fp32"
    micro_batch: Count = 32  # spans or sequences


class PretrainingFolders(Section, frozen=True):
    """The folder of the run, and its reports."""

    out: Path
    seed: Seed = 0
    watch_every: Count = 100  # steps between two held-out losses


class PretrainingRecipe(Section, frozen=True):
    """All settings of a run."""

    texts: Texts
    objective: PretrainingObjective
    learning: PretrainingSteps
    run: PretrainingFolders
    model: Start = Start()
    network: NetworkSizes = NetworkSizes()

    @property
    def is_masked(self) -> bool:
        return self.objective.kind in ("condenser", "cocondenser")


def load_pretraining_recipe(file: Path, overrides: dict[str, str] | None = None) -> PretrainingRecipe:
    """Read a recipe; `overrides` are `section.key` to TOML values. Raises an InputError that names the nearest key."""
    recipe = parse_recipe(PretrainingRecipe, read_recipe_file(file, overrides or {}), file, DOCUMENTED)
    kind, model, network = recipe.objective.kind, recipe.model, recipe.network
    if recipe.is_masked and model.start is None:
        raise InputError(f"{file}: {kind} needs model.start.", "Name a checkpoint, or the folder of a BERT.")
    if not recipe.is_masked and model.start is None and network.tokenizer is None:
        raise InputError(
            f"{file}: a new network for {kind} needs network.tokenizer.", "Name a tokenizer.json, or set model.start."
        )
    if network.n_heads % network.n_key_value_heads:
        raise InputError(f"{file}: network.n_heads is no multiple of n_key_value_heads.", "Correct these numbers.")
    return replace(recipe, texts=replace(recipe.texts, files=found(recipe.texts.files)))

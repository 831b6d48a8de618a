"""What a training run is: one TOML file."""

import json
import os
import tomllib
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from cdesearch.errors import InputError
from trainer.schema import Problem, SchemaError, keys_of, parse, to_plain

Filter = Literal["dense", "text", "fused", "none"]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which pairs."""

    pairs: list[Path]  # files, or folders of files: .jsonl, .jsonl.gz, .parquet
    leave_out: list[str] = field(default_factory=list)  # domains (file names without suffix)
    keep_out: list[Path] = field(default_factory=list)  # BEIR folders that no pair may leak from
    # Domain to a pattern that the `group` of a pair must begin with.
    groups: dict[str, str] = field(default_factory=dict)
    cap: int | None = None  # pairs of a domain, drawn at random; None: all
    held_out: float = 0.02  # share of each domain's pairs for the losses that are watched
    # Domain to its query and document prefix; others have the model's.
    prefixes: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """From what, and into what."""

    start: Path  # a cdesearch checkpoint, or a sentence-transformers folder of a BERT biencoder
    contextual: bool = True  # off: the biencoder baseline, by the same code
    doors: bool = True  # off: the context enters through the statistics head alone, and costs nothing
    context_attention: Literal["cached", "one_softmax", "joint"] = "cached"
    first_stage: Literal["own", "shared"] = "own"
    freeze_first_stage: bool = False
    freeze_tokens: bool = True  # the token embeddings of what has seen a billion pairs
    gate: float = 0.2  # how far the doors to the context are open at the start
    dropout: float = 0.0
    n_layers: int | None = None  # None: all of the start's
    # The keys that the recipe sets.
    set_keys: frozenset[str] = field(default=frozenset(), compare=False, metadata={"set_keys": True})


@dataclass(frozen=True, kw_only=True)
class Batches:
    """What stands together."""

    size: int = 128
    context_size: int = 128
    max_tokens: int = 128
    hard_negatives: int = 0
    clustered: bool = True  # off: batches are drawn from a domain at random
    cluster_size: int = 128
    order: Literal["random", "tour"] = "tour"
    by_document: bool = False  # chunks of one long document stand together, each placed in it as the index does
    components: int | None = None  # of an SVD before clustering
    sparse: bool = False  # cluster by TF-IDF and SVD, without the surrogate
    filter: Filter = "fused"  # whose scores find false negatives
    eps: float = 0.1
    slot_dropout: float = 0.005
    null_share: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How fast, how long."""

    steps: int | None = None  # None: `epochs` whole ones
    epochs: int = 1
    rate: float = 2e-5
    context_rate: float = 1e-3  # of doors, context projection, null vector
    head_rate: float = 1e-3  # of the statistics head's four numbers
    warmup: int = 100
    decay: float = 0.01
    clip: float = 1.0
    temperature: float = 0.05
    teacher_weight: float = 0.0  # of the fused surrogate's soft labels
    teacher_temperature: float = 0.05
    precision: Literal["fp32", "bf16"] = "fp32"
    micro_batch: int = 64


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where, and what is told on the way."""

    out: Path
    seed: int = 0
    work: Path | None = None  # what is made of the pairs, shared by runs of the same data; None: out/data
    surrogate: Path | None = None  # what `cdesearch index --model` takes; None: the start
    checkpoint_minutes: float = 5.0
    small_state: bool = False  # true: the state in fp16, half as large, from which training continues almost alike
    watch_every: int = 100  # steps between the held-out losses with true, random and null context
    evaluate: list[Path] = field(default_factory=list)  # BEIR folders
    evaluate_every: int | None = None  # steps; None: before and after


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A whole run."""

    data: Data
    model: ModelChoice
    batches: Batches = field(default_factory=Batches)
    learning: Learning = field(default_factory=Learning)
    run: Run


def load_recipe(file: Path, overrides: dict[str, str] | None = None) -> Recipe:
    """Read a recipe; `overrides` are `section.key` to TOML values. Raises InputError that names the nearest key.

    Data that is not where the recipe says is looked for under the folder that CDESEARCH_DATA names.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        for name, text in (overrides or {}).items():
            section, _, key = name.partition(".")
            values.setdefault(section, {})[key] = _value(text)
    except (OSError, tomllib.TOMLDecodeError, AttributeError) as error:
        raise InputError(f"{file} is no recipe ({error}).", "See trainer/recipes for some.") from None
    recipe = check_recipe(values, file)
    data = replace(recipe.data, pairs=_found(recipe.data.pairs), keep_out=_found(recipe.data.keep_out))
    run = replace(recipe.run, evaluate=_found(recipe.run.evaluate))
    return replace(recipe, data=data, run=run)


def _found(paths: list[Path]) -> list[Path]:
    root = Path(os.environ.get("CDESEARCH_DATA", "."))
    return [path if path.exists() else root / path for path in paths]


def check_recipe(values: dict[str, Any], file: Path) -> Recipe:
    """Sections and keys to a recipe; raises InputError that names `file` and the nearest key."""
    try:
        return parse(Recipe, values)
    except SchemaError as error:
        # A key that is not known first: it is why another one is missing.
        worst = min(error.problems, key=lambda found: found.known is None)
        raise InputError(f"{file}: {_explained(worst)}.", "See trainer/recipe.py for every key.") from None


def recipe_to_json(recipe: Recipe) -> str:
    """The recipe as one line of JSON."""
    return json.dumps(to_plain(recipe))


def recipe_from_json(text: str) -> Recipe:
    """The inverse of `recipe_to_json`; keys that are missing have their defaults. Raises SchemaError."""
    return parse(Recipe, json.loads(text))


def differences(one: Recipe, other: Recipe) -> list[str]:
    """`section.key: old -> new`, for each setting in which two recipes differ."""
    found = []
    for section in keys_of(Recipe):
        before, after = getattr(one, section), getattr(other, section)
        for key in keys_of(before):
            old, new = getattr(before, key), getattr(after, key)
            if old != new:
                found.append(f"{section}.{key}: {old} -> {new}")
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explained(problem: Problem) -> str:
    place = ".".join(problem.location)
    if problem.known is None:
        return f"{place}: {problem.message}"
    nearest = get_close_matches(problem.location[-1], problem.known, n=1, cutoff=0.5)
    return f"there is no {place}" + (f", did you mean {nearest[0]}" if nearest else "")

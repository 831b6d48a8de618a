"""The settings of a training run, stored in one TOML file, and how such files are read by msgspec.

An error names the key, and for a typo the nearest one.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from cdesearch.errors import InputError

EXAMPLES = "The folder trainer/recipes of the source code has examples."

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(gt=0, le=10)]  # of Adam, whose steps are about as long as the rate
Temperature = Annotated[float, Meta(ge=0.001, le=1000)]  # logits of cosines are then at most 1,000
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]

S = TypeVar("S", bound=Struct)
Filter = Literal["dense", "text", "fused", "none"]
DOCUMENTED = "See trainer/recipe.py for every key."


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a recipe."""


class Data(Section, frozen=True):
    """The pairs of query and document to train on."""

    pairs: list[Path]  # .jsonl, .jsonl.gz, .parquet, or a folder of them
    # BEIR folders; pairs that contain their queries or texts are left out.
    keep_out: list[Path] = field(default_factory=list)
    # From a domain (a file name without suffix) to a pattern that the `group` of a pair must begin with.
    groups: dict[str, str] = field(default_factory=dict)
    cap: Count | None = None  # pairs of a domain, drawn at random; None: all
    held_out: Share = 0.02  # share of each domain's pairs, for the held-out losses
    # Domains that are not trained on. If there are any, the held-out losses are of their pairs alone.
    held_out_domains: list[str] = field(default_factory=list)


class ModelChoice(Section, frozen=True):
    """The model to start from, and how it reads the context."""

    start: Path  # a cdesearch checkpoint, or a sentence-transformers folder of a BERT biencoder
    # `statistics`: whitening and weights of tokens by the statistics of the corpus, at no cost per token. `attention`:
    # gated attention to the first-stage vectors of the context. `both`. `joint`: statistics, and the paper's attention
    # over context and text in one sequence. `none`: the biencoder baseline, trained by the same code.
    context: Literal["none", "statistics", "attention", "both", "joint"] = "both"
    # Late chunking: the chunks of a long document are read together, in windows of at most so many tokens, in training
    # and in the checkpoint. 0: in training each chunk is read alone, and the checkpoint has the windows of the start.
    window_tokens: Annotated[int, Meta(ge=0, le=1_000_000)] = 0

    @property
    def attends(self) -> bool:
        return self.context in ("attention", "both", "joint")


class Batches(Section, frozen=True):
    """The composition of a batch."""

    size: Annotated[int, Meta(ge=2, le=1_000_000)] = 128
    context_size: Count = 128
    context: Literal["batch", "cluster"] = "batch"  # what is attended to: the batch, or other documents
    max_tokens: Count = 128
    hard_negatives: Annotated[int, Meta(ge=0, le=1_000)] = 0
    # What shares a batch: similar pairs, the chunks of a document (which then have document context as in an index), or
    # pairs of a domain at random.
    clusters: Literal["similar", "documents", "none"] = "similar"
    cluster_size: Count = 128
    filter: Filter = "fused"  # the scores that find false negatives
    eps: Annotated[float, Meta(ge=0, le=100)] = 0.1  # margin of the filter, relative to the score of the own document


class Learning(Section, frozen=True):
    """Steps, rates and loss."""

    # None: the steps of `epochs` epochs; both can be raised on resume.
    steps: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    epochs: Count = 1
    rate: Rate = 2e-5
    context_rate: Rate = 1e-3  # of the gated attention, the context projection and the null vector
    warmup: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 100
    temperature: Temperature = 0.05
    teacher_weight: Share = 0.0  # of the soft labels in the loss; see objective.teacher
    precision: Literal["fp32", "bf16"] = "fp32"
    micro_batch: Count = 64


class Objective(Section, frozen=True):
    """What the loss compares; by default it is InfoNCE from query to document. The losses are in trainer/loss."""

    query_negatives: bool = False  # the other queries of a batch are negatives of a query, too
    # Negatives whose cosine with the query exceeds that of its own document by more than this do not count. The cosines
    # are the model's own. None: all count that `batches.filter` leaves.
    margin: Annotated[float, Meta(ge=0, le=2)] | None = None
    # Compare vectors as rounded: to int8 (127 times tanh) or to their signs. Gradients are those of tanh.
    quantise: Literal["none", "int8", "binary"] = "none"
    # The loss is the mean over vectors cut to so many dimensions each; empty: whole vectors alone.
    matryoshka: list[Count] = field(default_factory=list)
    # The losses of the contextual stage of pplx-embed, over the chunks of long documents. The keys above that choose
    # negatives apply to the loss over whole documents. See trainer/loss/batch_loss.py.
    contextual: bool = False
    # With learning.teacher_weight, the soft labels: fused scores of the surrogate, or the `scores` of the pair files,
    # a list with a number for the document and then one for each of the `negatives`.
    teacher: Literal["surrogate", "pairs"] = "surrogate"
    # Models whose cosines the soft labels of the surrogate add, in standard deviations of each query's cosines.
    teachers: list[Path] = field(default_factory=list)
    # The documents among which the teacher distributes its probability: all of the batch, or with `local` the query's
    # own and its hard negatives (coCondenser, equations 15 and 16).
    teacher_scope: Literal["batch", "local"] = "batch"


class RunSettings(Section, frozen=True):
    """The folders of a run, and its reports."""

    out: Path
    seed: Seed = 0
    work: Path | None = None  # prepared data, which runs of the same pairs can share; None: out/data
    surrogate: Path | None = None  # any model that `cdesearch index --model` takes; None: the start
    watch_every: Count = 100  # steps between the held-out losses with true, random and null context

    @property
    def data_folder(self) -> Path:
        return self.work or self.out / "data"


class Recipe(Section, frozen=True, kw_only=True):
    """All settings of a run."""

    data: Data
    model: ModelChoice
    batches: Batches = Batches()
    learning: Learning = Learning()
    objective: Objective = field(default_factory=Objective)
    run: RunSettings


def read_recipe_file(file: Path, overrides: Mapping[str, str]) -> dict[str, Any]:
    """The tables of a recipe; `overrides` map `section.key` or `section.table.key` to TOML. Raises InputError."""
    try:
        with file.open("rb") as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.", EXAMPLES) from None
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also for bad UTF-8, numbers and file names
        raise InputError(f"{file} is not a recipe ({error}).", EXAMPLES) from None
    for name, text in overrides.items():
        *tables, key = name.split(".")
        keys = values
        for table in tables:
            if not isinstance(keys := keys.setdefault(table, {}), dict):
                raise InputError(f"{file}: {table} is not a table.", EXAMPLES)
        try:
            keys[key] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # text that is not TOML is a string
            keys[key] = text
    return values


def parse_override(text: str) -> tuple[str, str]:
    """`section.key=value` as key and value; raises InputError."""
    name, found, value = text.partition("=")
    if not found or "." not in name or not all(name.split(".")):
        raise InputError(f"--set {text} does not set a key of a section.", "Write --set section.key=value.")
    return name, value


def parse_recipe(kind: type[S], values: Mapping[str, Any], file: Path, documented: str) -> S:
    """The recipe of a `kind` with these values; raises an InputError that names the file, and the nearest key."""
    try:
        return msgspec.convert(values, kind, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise InputError(f"{file}: {_explained(kind, str(error))}.", documented) from None


def to_plain(recipe: Struct) -> dict[str, Any]:
    """The recipe as tables, lists, strings and numbers that `parse_recipe` and JSON accept."""
    plain: dict[str, Any] = msgspec.to_builtins(recipe, enc_hook=str)
    return plain


def differences(one: Struct, other: Struct) -> list[str]:
    """`section.key: old -> new`, for each setting in which two recipes of a kind differ."""
    before, after = to_plain(one), to_plain(other)
    return [
        f"{section}.{key}: {before[section][key]} -> {value}"
        for section, keys in after.items()
        for key, value in keys.items()
        if before[section][key] != value
    ]


def found(paths: list[Path]) -> list[Path]:
    """The paths; one that does not exist is looked for in the folder that CDESEARCH_DATA names."""
    root = Path(os.environ.get("CDESEARCH_DATA", "."))
    return [root / path if not path.exists() and (root / path).exists() else path for path in paths]


def _path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path) and value != "" and "\0" not in str(value):
        return Path(value)
    raise ValueError("Expected a path")


def _explained(kind: Any, message: str) -> str:
    """A message of msgspec with the key in front."""
    reason, _, location = message.partition(" - at `$")
    key = location.strip(".`")
    if (unknown := re.fullmatch("Object contains unknown field `(.*)`", reason)) is None:
        return f"{key}: {reason}" if key else reason
    for name in filter(None, key.split(".")):
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    nearest = get_close_matches(unknown[1], kind.__struct_fields__, n=1, cutoff=0.5)
    meant = f" (did you mean {nearest[0]}?)" if nearest else ""
    return f"there is no {'.'.join(filter(None, (key, unknown[1])))}{meant}"


def load_recipe(file: Path, overrides: dict[str, str] | None = None) -> Recipe:
    """Read a recipe; `overrides` are `section.key` to TOML values. Raises an InputError that names the nearest key."""
    recipe = check_recipe(read_recipe_file(file, overrides or {}), file)
    data = replace(recipe.data, pairs=found(recipe.data.pairs), keep_out=found(recipe.data.keep_out))
    return replace(recipe, data=data)


def check_recipe(values: dict[str, Any], file: Path) -> Recipe:
    """Validate sections and keys; raises an InputError that names `file` and the nearest known key."""
    recipe = parse_recipe(Recipe, values, file, DOCUMENTED)
    for domain, pattern in recipe.data.groups.items():
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(f"{file}: data.groups.{domain} is no pattern ({error}).", "Correct the pattern.") from None
    model = recipe.model
    if (model.window_tokens or recipe.objective.contextual) and recipe.batches.clusters != "documents":
        key = "model.window_tokens" if model.window_tokens else "objective.contextual"
        raise InputError(
            f"{file}: {key} needs batches of the chunks of long documents.", 'Set batches.clusters to "documents".'
        )
    if model.window_tokens and model.context == "joint":
        raise InputError(
            f"{file}: model.window_tokens and joint attention exclude each other.", "Leave one of the two out."
        )
    if recipe.objective.teachers and not (recipe.learning.teacher_weight and recipe.objective.teacher == "surrogate"):
        raise InputError(
            f"{file}: objective.teachers adds to the soft labels of the surrogate, and the recipe has none.",
            'Set learning.teacher_weight, and objective.teacher to "surrogate".',
        )
    return recipe

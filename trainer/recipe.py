"""The settings of a training run, stored in one TOML file."""

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from cdesearch.errors import InputError
from trainer.objective import Objective, check_objective
from trainer.recipe_file import found, parse_recipe, read_recipe_file
from trainer.schema import MOST, above, at_least, between, count, keys_of, parse, to_plain

Filter = Literal["dense", "text", "fused", "none"]
SHARE = between(0, 1)
RATE = above(0, 10)  # of Adam, whose steps are about as long as the rate
DECAY = between(0, 10)
CLIP = above(0, MOST)
TEMPERATURE = between(0.001, 1000)  # logits of cosines are then at most 1,000
MARGIN = between(0, 100)
WEIGHTS = (0.001, 100.0)  # an epoch packs the pairs of a domain so many times
MOST_WORKERS = 256  # processes that prepare batches

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Data:
    """The pairs of query and document to train on."""

    pairs: list[Path]  # .jsonl, .jsonl.gz, .parquet, a folder of them, or one that `datasets` saved
    leave_out: list[str] = field(default_factory=list)  # domains (file names without suffix)
    # BEIR folders; pairs that contain their queries or texts are left out.
    keep_out: list[Path] = field(default_factory=list)
    # From a domain to a pattern that the `group` of a pair must begin with.
    groups: dict[str, str] = field(default_factory=dict)
    cap: int | None = field(default=None, metadata=count(1))  # pairs of a domain, drawn at random; None: all
    # From a domain to a factor of the number of its batches in an epoch, which is 1 for the others.
    weights: dict[str, float] = field(default_factory=dict)
    held_out: float = field(default=0.02, metadata=SHARE)  # share of each domain's pairs, for the held-out losses
    # Domains that are not trained on. If there are any, the held-out losses are of their pairs alone.
    held_out_domains: list[str] = field(default_factory=list)
    # The query and document prefix in training and in the checkpoint; None: those of the start.
    prefix: tuple[str, str] | None = None
    # From a domain to its own query and document prefix in training.
    prefixes: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """The model to start from, and the shape of the model to train."""

    start: Path  # a cdesearch checkpoint, or a sentence-transformers folder of a BERT biencoder
    contextual: bool = True  # false: the biencoder baseline, trained by the same code
    gated_attention: bool = True  # false: the context acts through whitening alone, at no cost per token
    statistics: bool = True  # false: no whitening and equal token weights; the context acts through attention alone
    context_attention: Literal["cached", "one_softmax", "joint"] = "cached"
    context_sink: bool = True  # in cached attention: a slot of value zero, with which a text can ignore the context
    # What the second stage reads of the context: first-stage vectors of its texts (`pooled`), states of their rarest
    # tokens (`tokens`), or statistics that scale and shift every layer. With `siblings`, the chunks of a document read
    # each other.
    context_source: Literal["pooled", "tokens", "siblings", "statistics"] = "pooled"
    # With the context source tokens or siblings: how many tokens of each text are read. With 1, a context has one row
    # for each text in every layer, as in the paper.
    context_tokens: int = field(default=4, metadata=count(1, 512))
    first_stage: Literal["own", "shared"] = "own"
    # With the context source pooled: how many layers the first stage has; None: all.
    first_stage_layers: int | None = field(default=None, metadata=count(1))
    # Late chunking: the chunks of a long document are read together, in windows of at most so many tokens, in training
    # and in the checkpoint. 0: in training each chunk is read alone, and the checkpoint has the windows of the start.
    window_tokens: int = field(default=0, metadata=count(0))
    # Whether positions count through a window or restart at each chunk; a window may then be longer than the positions.
    window_positions: Literal["running", "restarted"] = "running"
    freeze_first_stage: bool = False
    freeze_tokens: bool = True  # do not train the token embeddings: the start was trained on far more pairs
    # The factor of the gates (their tanh) at the start of the run, if they are zero in the start model.
    gate: float = field(default=0.0, metadata=between(0, 0.999))
    dropout: float = field(default=0.0, metadata=SHARE)
    n_layers: int | None = field(default=None, metadata=count(1))  # None: all layers of the start
    # The names of the keys that the recipe sets.
    set_keys: frozenset[str] = field(default=frozenset(), compare=False, metadata={"set_keys": True})


@dataclass(frozen=True, kw_only=True)
class Batches:
    """The composition of a batch."""

    size: int = field(default=128, metadata=count(2))
    context_size: int = field(default=128, metadata=count(1))
    context: Literal["batch", "cluster"] = "batch"  # what gated attention reads: the batch, or other documents
    max_tokens: int = field(default=128, metadata=count(1))
    hard_negatives: int = field(default=0, metadata=count(0))
    clustered: bool = True  # false: batches are drawn from a domain at random
    cluster_size: int = field(default=128, metadata=count(1))
    processes: Literal["share", "own"] = "share"  # of torchrun: all share one batch, or each has its own
    order: Literal["random", "tour"] = "tour"
    by_document: bool = False  # chunks of one document share a batch, and have document context as in an index
    # Dimensions after an SVD before clustering; None: no SVD.
    components: int | None = field(default=None, metadata=count(1))
    sparse: bool = False  # true: cluster by TF-IDF and SVD, without the surrogate
    filter: Filter = "fused"  # the scores that find false negatives
    # The margin of the filter, relative to the score of the query's own document.
    eps: float = field(default=0.1, metadata=MARGIN)
    # Probability that the null vector replaces a context document.
    slot_dropout: float = field(default=0.005, metadata=SHARE)
    null_share: float = field(default=0.05, metadata=SHARE)  # share of the batches without context


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Steps, rates and loss."""

    # None: the steps of `epochs` epochs; both can be raised on resume.
    steps: int | None = field(default=None, metadata=count(0))
    epochs: int = field(default=1, metadata=count(1))
    rate: float = field(default=2e-5, metadata=RATE)
    # Of the gated attention, the context projection and the null vector.
    context_rate: float = field(default=1e-3, metadata=RATE)
    # Of the gates, which must change by about 1 from their start at 0.
    gate_rate: float = field(default=1e-2, metadata=RATE)
    head_rate: float = field(default=1e-3, metadata=RATE)  # of the four numbers of the whitening
    warmup: int = field(default=100, metadata=count(0))
    schedule: Literal["linear", "wsd"] = "linear"  # after warmup: a line to zero, or stable and then a half cosine
    cooldown: float = field(default=0.2, metadata=SHARE)  # with wsd: the share of the steps in which rates fall
    decay: float = field(default=0.01, metadata=DECAY)
    # Gradient norm of each group of parameters: backbone, context, gates, head.
    clip: float = field(default=1.0, metadata=CLIP)
    temperature: float = field(default=0.05, metadata=TEMPERATURE)
    # Weight of the soft labels in the loss; see objective.teacher.
    teacher_weight: float = field(default=0.0, metadata=SHARE)
    teacher_temperature: float = field(default=0.05, metadata=TEMPERATURE)
    precision: Literal["fp32", "bf16"] = "fp32"
    compile: bool = False  # true: compile every layer, which takes a minute and makes the steps on a GPU faster
    micro_batch: int = field(default=64, metadata=count(1))
    # Micro-batches of context, documents and queries each that stay in memory instead of being computed twice.
    kept_graphs: int = field(default=1, metadata=count(0))


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Training in rounds with hard negatives that are mined before each; see trainer/rounds.py and trainer/mine.py."""

    rounds: int = field(default=0, metadata=count(0, 9))  # 0: the hard negatives are those of the pair files
    first: Literal["words", "start"] = "words"  # what ranks documents for the first round: BM25, or the start
    depth: int = field(default=200, metadata=count(1))
    count: int = field(default=7, metadata=count(1))
    margin: float = field(default=0.1, metadata=MARGIN)
    set_keys: frozenset[str] = field(default=frozenset(), compare=False, metadata={"set_keys": True})


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The folders of a run, and its reports."""

    out: Path
    seed: int = field(default=0, metadata=between(0, 2**31 - 1))
    work: Path | None = None  # prepared data, which runs of the same pairs can share; None: out/data
    surrogate: Path | None = None  # any model that `cdesearch index --model` takes; None: the start
    # Processes that prepare batches; 0: a thread. None: on a GPU up to 8 processes, on a CPU a thread.
    workers: int | None = field(default=None, metadata=count(0, MOST_WORKERS))
    checkpoint_minutes: float = field(default=5.0, metadata=at_least(0))
    small_state: bool = False  # true: store moments of the optimizer and best weights in 16 bits, which rounds them
    # Steps between the held-out losses with true, random and null context.
    watch_every: int = field(default=100, metadata=count(1))
    trackio: str | None = None  # the project of trackio that gets the numbers of the log, too
    # Stop after so many held-out losses in a row without a new lowest one; None: never.
    patience: int | None = field(default=None, metadata=count(1))
    evaluate: list[Path] = field(default_factory=list)  # BEIR folders
    # Steps; None: only before and after training.
    evaluate_every: int | None = field(default=None, metadata=count(1))

    @property
    def data_folder(self) -> Path:
        """The folder of prepared data."""
        return self.work or self.out / "data"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All settings of a run."""

    data: Data
    model: ModelChoice
    batches: Batches = field(default_factory=Batches)
    learning: Learning = field(default_factory=Learning)
    objective: Objective = field(default_factory=Objective)
    mining: Rounds = field(default_factory=Rounds)
    run: RunSettings


def load_recipe(file: Path, overrides: dict[str, str] | None = None) -> Recipe:
    """Read a recipe; `overrides` are `section.key` to TOML values. Raises an InputError that names the nearest key.

    A relative path that does not exist is looked for in the folder that CDESEARCH_DATA names.
    """
    values = read_recipe_file(file, overrides or {})
    recipe = check_recipe(values, file)
    data = replace(recipe.data, pairs=found(recipe.data.pairs), keep_out=found(recipe.data.keep_out))
    run = replace(recipe.run, evaluate=found(recipe.run.evaluate))
    return replace(recipe, data=data, run=run)


def check_recipe(values: dict[str, Any], file: Path) -> Recipe:
    """Validate sections and keys; raises an InputError that names `file` and the nearest known key."""
    recipe = parse_recipe(Recipe, values, file, "See trainer/recipe.py and trainer/objective.py for every key.")
    _check_patterns(recipe, file)
    model = recipe.model
    if model.context_source != "pooled" and (model.context_attention, model.first_stage) != ("cached", "shared"):
        raise InputError(
            f"{file}: model.context_source = {model.context_source} needs cached attention and a shared first stage.",
            "Set model.first_stage to shared, and leave model.context_attention out.",
        )
    if model.context_source != "pooled" and model.first_stage_layers is not None:
        raise InputError(
            f"{file}: model.context_source = {model.context_source} reads all layers of the first stage.",
            "Leave model.first_stage_layers out.",
        )
    if "context_tokens" in model.set_keys and model.context_source not in ("tokens", "siblings"):
        raise InputError(
            f"{file}: model.context_tokens is {model.context_tokens}, but no tokens of the context are read.",
            "Set model.context_source to tokens or siblings, or leave model.context_tokens out.",
        )
    if model.context_source == "siblings" and not (recipe.batches.by_document and model.context_sink):
        raise InputError(
            f"{file}: model.context_source = siblings needs batches of whole documents, and a context sink.",
            "Set batches.by_document to true, and leave model.context_sink out.",
        )
    _check_windows(recipe, file)
    if negative := [domain for domain, weight in recipe.data.weights.items() if weight <= 0]:
        raise InputError(
            f"{file}: data.weights.{negative[0]} is not above 0.", "Name the domain in data.leave_out instead."
        )
    least, most = WEIGHTS
    if wrong := [domain for domain, weight in recipe.data.weights.items() if not least <= weight <= most]:
        raise InputError(
            f"{file}: data.weights.{wrong[0]} is {recipe.data.weights[wrong[0]]:g}.",
            f"Set it to a number from {least:g} to {most:g}, or name the domain in data.leave_out.",
        )
    if recipe.mining.rounds and not recipe.batches.hard_negatives:
        raise InputError(
            f"{file}: mining.rounds is {recipe.mining.rounds}, but batches.hard_negatives is 0.",
            "Set batches.hard_negatives to the number of hard negatives to train on.",
        )
    if recipe.mining.set_keys and "rounds" not in recipe.mining.set_keys:
        raise InputError(
            f"{file}: mining.{min(recipe.mining.set_keys)} has no effect without mining.rounds.",
            "Set mining.rounds, or leave the key out.",
        )
    has_teacher = recipe.learning.teacher_weight > 0
    check_objective(recipe.objective, file, has_teacher=has_teacher, is_mined=recipe.mining.rounds > 0)
    if _filter_masks_every_error(recipe):
        raise InputError(
            f"{file}: with the dense filter, eps {recipe.batches.eps:g} and the start as surrogate, every document that"
            " the start ranks above the right one is masked, so that nothing is left to learn.",
            "Set run.surrogate to another model, or batches.eps to 0.1.",
        )
    return recipe


def _check_windows(recipe: Recipe, file: Path) -> None:
    """Raise InputError if settings for long documents lack batches of them, or a network that reads windows."""
    model = recipe.model
    if not recipe.batches.by_document and (model.window_tokens or recipe.objective.contextual):
        key = "model.window_tokens" if model.window_tokens else "objective.contextual"
        raise InputError(
            f"{file}: {key} needs batches of the chunks of long documents.", "Set batches.by_document to true."
        )
    if model.window_tokens and (model.context_source != "pooled" or model.context_attention == "joint"):
        raise InputError(
            f"{file}: model.window_tokens needs the context source pooled and no joint attention.",
            "Leave model.context_source and model.context_attention out.",
        )
    if "window_positions" in model.set_keys and not model.window_tokens:
        raise InputError(
            f"{file}: model.window_positions is {model.window_positions}, but there are no windows.",
            "Set model.window_tokens, or leave model.window_positions out.",
        )


def _check_patterns(recipe: Recipe, file: Path) -> None:
    """Raise InputError if a pattern of `data.groups` is not a regular expression."""
    for domain, pattern in recipe.data.groups.items():
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(
                f"{file}: data.groups.{domain} is not a regular expression ({error}).", "Correct the pattern."
            ) from None


def _filter_masks_every_error(recipe: Recipe) -> bool:
    """Whether the filter of false negatives masks all documents that the start model ranks wrongly."""
    surrogate = recipe.run.surrogate
    own = surrogate is None or surrogate.resolve() == recipe.model.start.resolve()
    return own and recipe.batches.filter == "dense" and recipe.batches.eps <= 0


def recipe_to_json(recipe: Recipe) -> str:
    """The recipe as one line of JSON."""
    return json.dumps(to_plain(recipe))


def recipe_from_json(text: str) -> Recipe:
    """The inverse of `recipe_to_json`; keys that are missing have their defaults. Raises SchemaError."""
    return parse(Recipe, json.loads(text))


def differences(one: R, other: R) -> list[str]:
    """`section.key: old -> new`, for each setting in which two recipes of a kind differ."""
    found = []
    for section in keys_of(one):
        before, after = getattr(one, section), getattr(other, section)
        for key in keys_of(before):
            old, new = getattr(before, key), getattr(after, key)
            if old != new:
                found.append(f"{section}.{key}: {old} -> {new}")
    return found

"""The configuration of a checkpoint, as its config.json states it: shapes, prefixes and the statistics head."""

import json
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN, read_fields_text

FORMAT = 2
MIN_TEXT_TOKENS = 4  # that a model must be able to read after its prefix: two special tokens and some text
RANGES: Mapping[str, tuple[float, float]] = {  # of every number: minimum and maximum
    "vocabulary": (1, 100_000_000),
    "dimension": (1, 65_536),
    "n_layers": (1, 1_000),
    "first_stage_layers": (1, 1_000),
    "n_heads": (1, 65_536),
    "inner": (1, 1_000_000),
    "n_positions": (1, 10_000_000),
    "norm_eps": (0, 1),
    "dropout": (0, 0.999),
    "shift": (-100, 100),
    "ridge": (0, 1e9),
    "power": (-10, 10),
    "idf_exponent": (-10, 10),
    "half_at": (0, 1e9),
    "context_from": (0, 1_000),
    "context_norm_eps": (0, 1),
    "context_size": (1, 1_000_000),
    "document_weight": (0, 1e6),
    "max_tokens": (1, 10_000_000),
    "span_tokens": (1, 10_000_000),
    "window_tokens": (0, 10_000_000),
    "format": (FORMAT, FORMAT),
}
# Fields that config.json omits at their default, so that files without them keep their meaning and their fingerprint.
OPTIONAL = frozenset(
    {
        "context_norm_eps",
        "context_sink",
        "first_stage_layers",
        "window_tokens",
        "window_positions",
    }
)


@dataclass(frozen=True, slots=True)
class BackboneConfig:
    """Shape of one BERT encoder (post-norm, learned positions, exact GELU)."""

    vocabulary: int
    dimension: int
    n_layers: int
    n_heads: int
    inner: int
    n_positions: int
    norm_eps: float = 1e-12
    dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class StatisticsConfig:
    """The numbers of the corpus-statistics head: y = ((x - shift * mean) V) (w + ridge * mean(w)) ** -power."""

    shift: float = 0.7
    ridge: float = 20.0
    power: float = 0.5
    idf_exponent: float = 0.5
    half_at: float = (
        0.0  # texts with which shift and power have half of their values; 0: the whole values for any number
    )


NO_STATISTICS = StatisticsConfig(shift=0.0, power=0.0, idf_exponent=0.0)  # vectors as the networks return them


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The configuration of a whole checkpoint. One of another family is described in the terms of this project.

    `weights_hash` is a hash of the fp32 weights, so that every export of them has the same fingerprint.
    """

    backbone: BackboneConfig
    statistics: StatisticsConfig = StatisticsConfig()
    context_attention: Literal["joint", "cached"] = "cached"
    context_from: int = 1  # in cached attention: the first layer with gated cross-attention to the context
    context_sink: bool = False  # in cached attention: a learned slot of value zero in the softmax over the context
    context_norm_eps: float | None = None  # of the layer norm over the context rows; None: the backbone's
    first_stage: Literal["own", "shared"] = "own"  # shared: it is the second stage's backbone, without context
    first_stage_layers: int | None = None  # None: all
    context_size: int = 512
    document_weight: float = 0.6  # length of the document offset in the vectors of chunks; 0: no document context
    max_tokens: int = 512
    span_tokens: int | None = None  # longer texts are read in spans of so many tokens and pooled over all spans
    # Late chunking: the chunks of a document are read together, in windows of at most so many tokens, and each is
    # pooled from its own tokens. 0: each chunk is read alone.
    window_tokens: int = 0
    # Positions of the tokens of a window: counted through the window, or from 0 again at each chunk, so that a window
    # may have more tokens than the backbone has positions.
    window_positions: Literal["running", "restarted"] = "running"
    query_prefix: str = ""
    document_prefix: str = ""
    weights_hash: str = ""
    format: int = FORMAT

    @property
    def null_slots(self) -> int:
        """How many slots the null context has: as many as any context if their number changes the vectors, else one."""
        return self.context_size if self.context_attention == "joint" or self.context_sink else 1

    def save(self, folder: Path) -> None:
        """Write `config.json`."""
        unset = {field.name for field in fields(self) if field.name in OPTIONAL and _is_default(self, field)}
        values = {name: value for name, value in asdict(self).items() if name not in unset}
        if not self.statistics.half_at:
            del values["statistics"]["half_at"]
        (folder / "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ModelConfig":
        """Read `config.json`; raises a ModelError that names the missing, unknown or impossible field."""
        file = folder / "config.json"
        try:
            values = json.loads(read_fields_text(file))
        except FileNotFoundError:
            raise ModelError(
                f"{folder} is not a checkpoint: it has no config.json.", "Name a checkpoint folder."
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{file} cannot be read ({error}).", AGAIN) from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ModelError(
                f"{file} is not a cdesearch checkpoint of format {FORMAT}.", "Name a checkpoint of cdesearch."
            )
        values["backbone"] = _parse(BackboneConfig, values.get("backbone"), file)
        values["statistics"] = _parse(StatisticsConfig, values.get("statistics"), file)
        config: ModelConfig = _parse(cls, values, file)
        config._check_sizes(file)
        return config

    def _check_sizes(self, file: Path) -> None:
        """Raise ModelError if two numbers contradict each other."""
        backbone = self.backbone
        if backbone.dimension % backbone.n_heads:
            raise ModelError(
                f"{file} has a dimension of {backbone.dimension}, not divisible by its {backbone.n_heads} heads.", AGAIN
            )
        if min(self.max_tokens, self.span_tokens or self.max_tokens) > backbone.n_positions:
            raise ModelError(f"{file} reads more tokens at once than its {backbone.n_positions} positions.", AGAIN)
        if self.context_sink and self.context_attention != "cached":
            raise ModelError(f"{file} has context_sink, which only cached context attention has.", AGAIN)
        if (self.first_stage_layers or 0) > backbone.n_layers:
            raise ModelError(f"{file} has first_stage_layers = {self.first_stage_layers}, above n_layers.", AGAIN)
        if self.window_tokens and self.context_attention == "joint":
            raise ModelError(f"{file} has window_tokens, which joint context attention does not read.", AGAIN)
        if self.window_positions == "running" and self.window_tokens > backbone.n_positions:
            raise ModelError(
                f"{file} has window_tokens = {self.window_tokens}, above its {backbone.n_positions} positions.", AGAIN
            )


def _is_default(config: ModelConfig, field: Field[Any]) -> bool:
    return bool(getattr(config, field.name) == field.default)


def _parse(kind: Any, values: Any, file: Path) -> Any:
    known = {field.name for field in fields(kind)}
    if not isinstance(values, dict):
        raise ModelError(f"{file} lacks the fields of {kind.__name__}.", AGAIN)
    if unknown := sorted(set(values) - known):
        listed = f"{', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}"
        raise ModelError(f"{file} has fields that are not supported: {listed:.200}.", "Upgrade cdesearch.")
    for field in fields(kind):
        if field.name in values and not _is_possible(field.name, field.type, values[field.name]):
            raise ModelError(f"{file} has {field.name} = {values[field.name]!r:.40}, which is out of range.", AGAIN)
    try:
        return kind(**values)
    except TypeError as error:
        raise ModelError(f"{file} is incomplete ({error}).", AGAIN) from None


def _is_possible(name: str, kind: Any, value: Any) -> bool:
    """Whether a value has its field's type and is in its range; NaN is never in a range."""
    if name in ("backbone", "statistics"):
        return True  # already parsed
    if name in RANGES:
        if value is None:
            return kind in (int | None, float | None)
        minimum, maximum = RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int if kind in (int, int | None) else int | float):
            return False
        number: float = value
        return minimum <= number <= maximum
    if kind is bool:
        return isinstance(value, bool)
    return isinstance(value, str) and _is_utf8(value) and (kind is str or value in get_args(kind))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

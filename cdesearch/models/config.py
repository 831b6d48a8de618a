"""The configuration of a checkpoint, as its config.json states it: shapes, prefixes and the statistics head."""

import hashlib
import json
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN, read_fields_text

FORMAT = 2
MIN_TEXT_TOKENS = 4  # that a model must be able to read after its prefix: two special tokens and some text
# Fields that config.json omits at their default, so that files without them keep their meaning and their fingerprint.
OPTIONAL = ("context_norm_eps", "context_sink", "window_tokens", "context_head", "typical_mean")

Width = Annotated[int, Meta(ge=1, le=65_536)]
Rows = Annotated[int, Meta(ge=1, le=1_000_000)]
Positions = Annotated[int, Meta(ge=1, le=10_000_000)]
Eps = Annotated[float, Meta(ge=0, le=1)]
Power = Annotated[float, Meta(ge=-10, le=10)]
Large = Annotated[float, Meta(ge=0, le=1e9)]


@dataclass(frozen=True, slots=True)
class BackboneConfig:
    """Shape of one BERT encoder (post-norm, learned positions, exact GELU)."""

    vocabulary: Annotated[int, Meta(ge=1, le=100_000_000)]
    dimension: Width
    n_layers: Annotated[int, Meta(ge=1, le=1_000)]
    n_heads: Width
    inner: Rows
    n_positions: Positions
    norm_eps: Eps = 1e-12
    dropout: Annotated[float, Meta(ge=0, le=0.999)] = 0.0


@dataclass(frozen=True, slots=True)
class StatisticsConfig:
    """The numbers of the corpus-statistics head: y = ((x - shift * mean) V) (w + ridge * mean(w)) ** -power."""

    shift: Annotated[float, Meta(ge=-100, le=100)] = 0.7
    ridge: Large = 20.0
    power: Power = 0.5
    idf_exponent: Power = 0.5
    # The number of texts of a corpus with which its own mean, and the power, count half.
    half_at: Large = 0.0


Gain = Annotated[float, Meta(ge=-1_000, le=1_000)]
Five = Annotated[tuple[Gain, ...], Meta(min_length=5, max_length=5)]
Nine = Annotated[tuple[Gain, ...], Meta(min_length=9, max_length=9)]


@dataclass(frozen=True, slots=True)
class HeadSideConfig:
    """The parameters of a context head for queries or for documents (`cdesearch.context.head`)."""

    log_sharpness: Annotated[float, Meta(ge=-20, le=20)]  # logarithm of the factor of cosines before the softmax
    sink: Gain  # added to the logit of the sink
    hidden: Annotated[tuple[Five, ...], Meta(min_length=8, max_length=8)]  # weights of four features, and a bias
    gates: Annotated[tuple[Nine, ...], Meta(min_length=2, max_length=2)]  # weights of the hidden layer, and a bias


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """The parameters of a context head."""

    query: HeadSideConfig
    document: HeadSideConfig


NO_STATISTICS = StatisticsConfig(shift=0.0, power=0.0, idf_exponent=0.0)  # vectors as the networks return them
# What the corpus adds to the vectors of a published model, which was trained without one. The strength of the whitening
# follows from the spectrum of the vectors, because `ridge` is relative to its mean. The choice of the numbers is
# recorded in benchmarks/results/LOG.md.
ADDED_STATISTICS = StatisticsConfig(shift=0.5, ridge=20.0, power=0.5, idf_exponent=0.25, half_at=32.0)
ADDED_DOCUMENT_WEIGHT = 0.6


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The configuration of a whole checkpoint. One of another family is described in the terms of this project.

    `weights_hash` is a hash of the fp32 weights, so that every export of them has the same fingerprint.
    """

    backbone: BackboneConfig
    statistics: StatisticsConfig = StatisticsConfig()
    context_attention: Literal["joint", "cached"] = "cached"
    # In cached attention: the first layer with gated cross-attention to the context.
    context_from: Annotated[int, Meta(ge=0, le=1_000)] = 1
    context_sink: bool = False  # in cached attention: a learned slot of value zero in the softmax over the context
    context_norm_eps: Eps | None = None  # of the layer norm over the context rows; None: the backbone's
    first_stage: Literal["own", "shared"] = "own"  # shared: it is the second stage's backbone, without context
    context_size: Rows = 512
    # The length of the document offset in the vectors of chunks; 0: no document context.
    document_weight: Annotated[float, Meta(ge=0, le=1e6)] = 0.6
    max_tokens: Positions = 512
    span_tokens: Positions | None = None  # longer texts are read in spans of so many tokens and pooled over all spans
    # Late chunking: the chunks of a document are read together, in windows of at most so many tokens, and each is
    # pooled from its own tokens. 0: each chunk is read alone.
    window_tokens: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    query_prefix: str = ""
    document_prefix: str = ""
    context_head: HeadConfig | None = None  # attention behind the networks to the sampled chunks; None: there is none
    # The mean of the pooled vectors of the texts of many corpora, for `statistics.half_at`; empty: zero.
    typical_mean: tuple[Gain, ...] = ()
    weights_hash: str = ""
    format: int = FORMAT

    @property
    def null_slots(self) -> int:
        """How many slots the null context has: as many as any context if their number changes the vectors, else one."""
        return self.context_size if self.context_attention == "joint" or self.context_sink else 1

    def save(self, folder: Path) -> None:
        unset = {one.name for one in fields(self) if one.name in OPTIONAL and getattr(self, one.name) == one.default}
        values = {name: value for name, value in asdict(self).items() if name not in unset}
        if not self.statistics.half_at:
            del values["statistics"]["half_at"]
        (folder / "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ModelConfig":
        """Read `config.json`; raises a ModelError that names the missing, unknown or impossible field."""
        file = folder / "config.json"
        try:
            values = msgspec.json.decode(read_fields_text(file))
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
        try:
            config = msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            raise ModelError(f"{file} has a field that is missing or out of range ({error}).", AGAIN) from None
        known = asdict(config)
        parts = [(known, values), *((known[name], values.get(name, {})) for name in ("backbone", "statistics"))]
        if config.context_head is not None:
            head, own_head = known["context_head"], values["context_head"]
            parts += [(head, own_head), *((head[role], own_head[role]) for role in head)]
        for kind, own in parts:
            if unknown := sorted(own.keys() - kind.keys()):
                raise ModelError(
                    f"{file} has fields that are not supported: {', '.join(unknown):.200}.", "Upgrade cdesearch."
                )
        positions = config.backbone.n_positions
        if min(config.max_tokens, config.span_tokens or config.max_tokens) > positions:
            raise ModelError(f"{file} reads more tokens at once than its {positions} positions.", AGAIN)
        if config.window_tokens > positions:
            raise ModelError(f"{file} has windows of {config.window_tokens} tokens, and {positions} positions.", AGAIN)
        if len(config.typical_mean) not in (0, config.backbone.dimension):
            raise ModelError(f"{file} has a typical mean of {len(config.typical_mean)} dimensions.", AGAIN)
        return config


def published_config(backbone: BackboneConfig, **settings: Any) -> ModelConfig:
    """The configuration of a published model, without statistics and document context."""
    return ModelConfig(backbone, statistics=NO_STATISTICS, document_weight=0.0, **settings)


def with_added_context(config: ModelConfig) -> ModelConfig:
    """The configuration of a published model, with statistics of the corpus and document context."""
    return replace(config, statistics=ADDED_STATISTICS, document_weight=ADDED_DOCUMENT_WEIGHT)


def has_added_context(config: ModelConfig) -> bool:
    """Whether this configuration is a result of `with_added_context`."""
    return config.statistics == ADDED_STATISTICS


def fingerprint_with_added_context(fingerprint: str) -> str:
    """The fingerprint of a published model with added context, from that of the model as it was published."""
    numbers = (*astuple(ADDED_STATISTICS), ADDED_DOCUMENT_WEIGHT)
    return hashlib.blake2b(f"{fingerprint} {numbers}".encode(), digest_size=16).hexdigest()

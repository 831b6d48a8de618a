"""What a checkpoint is: shapes, prefixes and the statistics head, as its config.json states them."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from cdesearch.errors import ModelError

FORMAT = 2


@dataclass(frozen=True, slots=True)
class BackboneConfig:
    """Shapes of one BERT encoder (post-norm, learned positions, exact GELU)."""

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
    """The four numbers of the corpus-statistics head: y = ((x - shift * mean) V) (w + ridge * mean(w)) ** -power."""

    shift: float = 0.7
    ridge: float = 20.0
    power: float = 0.5
    idf_exponent: float = 0.5


NO_STATISTICS = StatisticsConfig(shift=0.0, power=0.0, idf_exponent=0.0)  # vectors as the networks give them


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A whole checkpoint, or one of another family in our words.

    `weights_hash` names the fp32 weights, so that every export of them has one fingerprint.
    """

    backbone: BackboneConfig
    statistics: StatisticsConfig = StatisticsConfig()
    context_attention: Literal["joint", "cached", "one_softmax"] = "cached"
    context_from: int = 1  # cached: the first layer with a door to the context; below it text rows are bare words
    first_stage: Literal["own", "shared"] = "own"  # shared: the second stage's backbone without context
    context_size: int = 512
    document_weight: float = 0.6  # of a document's direction in its chunks' vectors; 0: chunks know only the corpus
    max_tokens: int = 512
    span_tokens: int | None = None  # that see one another: a longer text is read in spans and pooled whole
    query_prefix: str = ""
    document_prefix: str = ""
    weights_hash: str = ""
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        """Write `config.json`."""
        (folder / "config.json").write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ModelConfig":
        """Read `config.json`; raises ModelError that names what is missing or unknown."""
        file = folder / "config.json"
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ModelError(
                f"{folder} is no checkpoint: it has no config.json.", "Name a checkpoint folder."
            ) from None
        except (OSError, ValueError) as error:
            raise ModelError(f"{file} cannot be read ({error}).", "Copy the checkpoint again.") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ModelError(
                f"{file} is not a cdesearch checkpoint of format {FORMAT}.", "Use one written by cdesearch."
            )
        values["backbone"] = _parse(BackboneConfig, values.get("backbone"), file)
        values["statistics"] = _parse(StatisticsConfig, values.get("statistics"), file)
        config: ModelConfig = _parse(cls, values, file)
        return config


def _parse(kind: Any, values: Any, file: Path) -> Any:
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(values) - known) if isinstance(values, dict) else [kind.__name__]
    if unknown:
        raise ModelError(f"{file} has fields that are not supported: {', '.join(unknown)}.", "Upgrade cdesearch.")
    try:
        return kind(**values)
    except TypeError as error:
        raise ModelError(f"{file} is incomplete ({error}).", "Copy the checkpoint again.") from None

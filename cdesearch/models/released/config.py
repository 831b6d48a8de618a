"""The configuration of a released checkpoint, read from the published config.json."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from cdesearch.errors import ModelError
from cdesearch.models.backbones.modern_bert import ModernBertConfig
from cdesearch.models.backbones.nomic_bert import NomicBertConfig
from cdesearch.models.checkpoint_files import number, refuse_unsupported, whole_number

Variant = Literal["v1", "v2"]
Backbone = NomicBertConfig | ModernBertConfig

# A released config.json holds every argument of its training run. Other values of these fields would be another model.
# Both released models pool only the text, so `pool_ignore_contextual_tokens` must be true or absent.
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "architecture": ("transductive",),
    "autoregressive_backbone": (False,),
    "disable_transductive_rotary_embedding": (True, False),
    "pool_ignore_contextual_tokens": (True,),
    "pool_ignore_instruction_tokens": (True, False),
    "pooling_strategy": ("mean",),
    "transductive_tie_token_embeddings": (False,),
    "transductive_tokens_per_document": (1,),
}


@dataclass(frozen=True, slots=True)
class ReleasedConfig:
    """The fields of the published config.json that the computation depends on, and the shapes of both stages."""

    variant: Variant
    first_stage: Backbone
    second_stage: Backbone
    corpus_size: int  # context rows; further vectors of a context are ignored
    max_tokens: int
    has_null: bool
    rotates_context: bool  # v1: whether context rows have positions
    skips_instruction: bool  # whether the prefix is excluded from the pooled rows

    @classmethod
    def from_published(cls, config: Mapping[str, Any], backbone: Backbone) -> "ReleasedConfig":
        """Read the checkpoint's fields; absent ones have the published values. Raises ModelError."""
        refuse_unsupported(config, _SUPPORTED, "the checkpoint")
        # In the reference `limit_layers` limits only the second stage; the first stage has a field of its own.
        first, second = (
            replace(backbone, n_layers=min(backbone.n_layers, whole_number(config, name, backbone.n_layers)))
            for name in ("limit_layers_first_stage", "limit_layers")
        )
        return cls(
            variant_of(config),
            first_stage=first,
            second_stage=second,
            corpus_size=whole_number(config, "transductive_corpus_size", 512),
            max_tokens=whole_number(config, "max_seq_length", 512),
            has_null=number(config, "transductive_sequence_dropout_prob", 0.005, minimum=0.0) > 0,
            rotates_context=config.get("disable_transductive_rotary_embedding") is False,
            skips_instruction=bool(config.get("pool_ignore_instruction_tokens")),
        )


def variant_of(config: Mapping[str, Any]) -> Variant:
    """The variant of the config's backbone; raises ModelError if it names none, or two."""
    names = {field: str(config.get(field) or "").lower() for field in ("embedder", "dataset_backbone")}
    # Any other name may be a local folder: then the names of the weights decide whether it is the right one.
    found = {field: "modernbert" in name for field, name in names.items() if "modernbert" in name or "nomic" in name}
    if len(set(found.values())) != 1:
        raise ModelError(
            f"The config's embedder is {config.get('embedder')!r} and its dataset_backbone is"
            f" {config.get('dataset_backbone')!r}, which are not one NomicBERT or ModernBERT.",
            "Name the folder of jxm/cde-small-v1 or jxm/cde-small-v2.",
        )
    return "v2" if True in found.values() else "v1"

"""The configuration of a released checkpoint, read from the published config.json files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from cdesearch.errors import ModelError
from cdesearch.models.backbones.modern_bert import ModernBertConfig
from cdesearch.models.backbones.nomic_bert import NomicBertConfig
from cdesearch.models.published_fields import number, refuse_unsupported, whole_number

Variant = Literal["v1", "v1_hub_remote_code", "v2"]

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
    """The fields of the published config.json files that the computation depends on."""

    variant: Variant
    first_stage: NomicBertConfig | ModernBertConfig
    second_stage: NomicBertConfig | ModernBertConfig
    corpus_size: int  # context rows; further vectors of a context are ignored
    max_tokens: int
    has_null: bool
    rotates_context: bool  # v1: whether context rows have positions
    skips_instruction: bool  # whether the prefix is excluded from the pooled rows

    @classmethod
    def from_published(
        cls, config: Mapping[str, Any], backbone: Mapping[str, Any], variant: Variant | None = None
    ) -> "ReleasedConfig":
        """Read the checkpoint's and the backbone's fields; absent ones have the published values. Raises ModelError."""
        variant = _variant(config, variant)
        refuse_unsupported(config, _SUPPORTED, "the checkpoint")
        stages: list[NomicBertConfig | ModernBertConfig] = []
        # In the reference `limit_layers` limits only the second stage; the first stage has a field of its own.
        for field in ("limit_layers_first_stage", "limit_layers"):
            n_layers = whole_number(config, field, 0) or None
            if variant == "v2":
                stages.append(ModernBertConfig.from_published(backbone, n_layers))
            else:
                stage = NomicBertConfig.from_published(backbone, n_layers)
                stages.append(replace(stage, rotates_heads=variant == "v1_hub_remote_code"))
        return cls(
            variant,
            first_stage=stages[0],
            second_stage=stages[1],
            corpus_size=whole_number(config, "transductive_corpus_size", 512),
            max_tokens=whole_number(config, "max_seq_length", 512),
            has_null=number(config, "transductive_sequence_dropout_prob", 0.005, minimum=0.0) > 0,
            rotates_context=config.get("disable_transductive_rotary_embedding") is False,
            skips_instruction=bool(config.get("pool_ignore_instruction_tokens")),
        )


def _variant(config: Mapping[str, Any], named: Variant | None) -> Variant:
    """The variant that the caller named, else the variant of the config's backbone.

    Raises ModelError if the two contradict each other.
    """
    if named is not None and named not in get_args(Variant):
        raise ModelError(f"There is no variant {named!r}.", f"Name one of {', '.join(get_args(Variant))}.")
    found: Variant | None = named
    for field in ("embedder", "dataset_backbone"):
        name = str(config.get(field) or "").lower()
        of_name: Variant | None = "v2" if "modernbert" in name else "v1" if "nomic" in name else None
        # Any other name may be a local folder: then the caller's variant, and the names of the weights, decide.
        if of_name and found and (of_name == "v2") != (found == "v2"):
            raise ModelError(
                f"{field} is {config[field]!r}, which is not the backbone of variant {found}.",
                "Name the variant of the checkpoint; both stages have the same kind of backbone.",
            )
        found = found or of_name
    if found is None:
        raise ModelError(
            f"The config's embedder is {config.get('embedder')!r}, neither NomicBERT nor ModernBERT.",
            "Name the folder of jxm/cde-small-v1 or jxm/cde-small-v2.",
        )
    return found

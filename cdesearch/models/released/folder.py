"""A released checkpoint as it lies in a folder: config.json and model.safetensors, as downloaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from cdesearch.errors import ModelError
from cdesearch.models.config import NO_STATISTICS, BackboneConfig, ModelConfig
from cdesearch.models.published_fields import read_fields
from cdesearch.models.published_weights import read_weights
from cdesearch.models.released.model import ReleasedConfig, ReleasedModel, Variant, load_released
from cdesearch.models.released.state import NULL, backbone_widths

QUERY_PREFIX, DOCUMENT_PREFIX = "search_query: ", "search_document: "
_HOW = "Download jxm/cde-small-v1 or jxm/cde-small-v2 whole and name its folder."
_DROPOUT = "transductive_sequence_dropout_prob"


def open_released(
    folder: Path, compat: Literal["hub_remote_code"] | None = None, backbone: Mapping[str, Any] | None = None
) -> ReleasedModel:
    """Read a released checkpoint's folder into fp32; raises ModelError. Nothing is downloaded, no code of it runs.

    `compat="hub_remote_code"` computes a v1 as the code beside it on the hub does, faults included, and not as it was
    trained. `backbone`: fields of the backbone's own config.json; without them, widths are the weights' and all else
    is as published.
    """
    config = _read_config(folder)
    variant: Variant | None = None
    if compat is not None:
        if compat != "hub_remote_code":
            raise ModelError(f"There is no compat={compat!r}.", 'Leave it out, or name "hub_remote_code".')
        variant = "v1_hub_remote_code"
    state = read_weights(folder)
    if NULL in state and not config.get(_DROPOUT):
        # The config that was published is for use, where nothing drops out: the weights of the training run may hold
        # the null embedding all the same.
        config[_DROPOUT] = 0.005
    try:
        return load_released(config, state, backbone_widths(state) if backbone is None else backbone, variant)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None


def in_our_words(config: ReleasedConfig) -> ModelConfig:
    """The published vectors: no statistics, no weight for a chunk's document."""
    stage = config.second_stage
    backbone = BackboneConfig(
        vocabulary=stage.vocabulary,
        dimension=stage.dimension,
        n_layers=stage.n_layers,
        n_heads=stage.n_heads,
        inner=stage.inner,
        n_positions=config.max_tokens,
        norm_eps=stage.norm_eps,
    )
    return ModelConfig(
        backbone,
        statistics=NO_STATISTICS,
        context_attention="joint",
        context_size=config.corpus_size,
        document_weight=0.0,
        max_tokens=config.max_tokens,
        query_prefix=QUERY_PREFIX,
        document_prefix=DOCUMENT_PREFIX,
    )


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} is no checkpoint: it has no config.json.", _HOW)
    config = read_fields(folder / "config.json")
    if "embedder" not in config:
        raise ModelError(f"{folder / 'config.json'} is of no released checkpoint: it names no embedder.", _HOW)
    return config

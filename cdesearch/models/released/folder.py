"""Read the folder of a released checkpoint: config.json and model.safetensors, as downloaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.config import NO_STATISTICS, BackboneConfig, ModelConfig
from cdesearch.models.published_fields import read_fields
from cdesearch.models.published_weights import read_weights
from cdesearch.models.released.config import ReleasedConfig
from cdesearch.models.released.model import NULL, ReleasedModel, backbone_widths, load_released

QUERY_PREFIX, DOCUMENT_PREFIX = "search_query: ", "search_document: "
_REMEDY = "Download jxm/cde-small-v1 or jxm/cde-small-v2 completely and name its folder."
_DROPOUT = "transductive_sequence_dropout_prob"


def open_released(folder: Path, backbone: Mapping[str, Any] | None = None) -> ReleasedModel:
    """Read a released checkpoint's folder into fp32; raises ModelError. Nothing is downloaded, and no code of it runs.

    `backbone` has the fields of the backbone's own config.json. Without it, widths are derived from the weights, and
    other fields have the published values.
    """
    config = _read_config(folder)
    state = read_weights(folder)
    if NULL in state and not config.get(_DROPOUT):
        # The published config is for inference, where nothing is dropped out. The weights may still contain the null
        # embedding of training.
        config[_DROPOUT] = 0.005
    try:
        return load_released(config, state, backbone_widths(state) if backbone is None else backbone)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None


def as_model_config(config: ReleasedConfig) -> ModelConfig:
    """The configuration in the terms of this project, for the published vectors: no whitening, no document context."""
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
        raise ModelError(f"{folder} is not a checkpoint: it has no config.json.", _REMEDY)
    config = read_fields(folder / "config.json")
    if "embedder" not in config:
        raise ModelError(
            f"{folder / 'config.json'} does not belong to a released checkpoint: it names no embedder.", _REMEDY
        )
    return config

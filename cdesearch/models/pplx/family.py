"""The published checkpoints of pplx-embed: the plain model, and the context model, which reads whole documents.

What their config.json has that is not known is refused by its name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import MAX_LAYERS, REMEDY, number, read_fields, refuse_unsupported, whole_number
from cdesearch.models.config import BackboneConfig, ModelConfig, published_config
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily, hash_files, lazily

MODEL_TYPE = "bidirectional_pplx_qwen3"
SEPARATOR = "<|endoftext|>"  # between the chunks of a document, in the tokenizers of Qwen3
MAX_TOKENS = 32_768

_LARGEST = 65_536  # of a width; as in a checkpoint of this project
_SHAPES = {  # the fields that the network is built from, and their largest values
    "vocab_size": 100_000_000,
    "hidden_size": _LARGEST,
    "intermediate_size": 1_000_000,
    "num_hidden_layers": MAX_LAYERS,
    "num_attention_heads": _LARGEST,
    "num_key_value_heads": _LARGEST,
    "head_dim": _LARGEST,
    "max_position_embeddings": 10_000_000,
}
_SUPPORTED = {
    "attention_bias": (False,),
    "hidden_act": ("silu",),
    "quantization_config": (),
    "rope_scaling": (),
    "use_sliding_window": (False,),
}
_ROPE_BASE = 1_000_000.0  # of the published checkpoints


def read_folder(folder: Path) -> tuple[dict[str, Any], ModelConfig]:
    """The fields of transformers' Qwen3Config, and the configuration as published; raises ModelError."""
    fields = read_fields(folder / "config.json")
    try:
        shapes = _shapes(fields)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None
    backbone = BackboneConfig(
        vocabulary=shapes["vocab_size"],
        dimension=shapes["hidden_size"],
        n_layers=shapes["num_hidden_layers"],
        n_heads=shapes["num_attention_heads"],
        inner=shapes["intermediate_size"],
        n_positions=shapes["max_position_embeddings"],
        norm_eps=shapes["rms_norm_eps"],
    )
    return shapes, published_config(backbone, max_tokens=min(MAX_TOKENS, backbone.n_positions))


def joins_chunks(fields: Mapping[str, Any]) -> bool:
    """Whether config.json is that of a context model: it names the class of its published code."""
    return "Contextual" in f"{fields.get('auto_map')} {fields.get('architectures')}"


def _shapes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Qwen3Config; raises ModelError for missing, impossible and unsupported ones."""
    refuse_unsupported(fields, _SUPPORTED, "pplx-embed")
    kinds = fields.get("layer_types") or []
    if not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        raise ModelError("layer_types names layers other than full_attention, which are not supported.", REMEDY)
    if missing := [name for name in _SHAPES if fields.get(name) is None]:
        raise ModelError(f"Its config.json lacks {', '.join(missing)}.", REMEDY)
    shapes: dict[str, Any] = {name: whole_number(fields, name, 0, largest) for name, largest in _SHAPES.items()}
    if shapes["num_attention_heads"] % shapes["num_key_value_heads"] or shapes["head_dim"] % 2:
        raise ModelError(
            "num_attention_heads has to be a multiple of num_key_value_heads, and head_dim has to be even.", REMEDY
        )
    shapes["rms_norm_eps"] = number(fields, "rms_norm_eps", 1e-6, minimum=0)
    nested = fields.get("rope_parameters") or {}  # where newer files put the base of the rotary embedding
    if not isinstance(nested, dict):
        raise ModelError("rope_parameters is not a JSON object.", REMEDY)
    refuse_unsupported(nested, {"rope_type": ("default",)}, "the rotary embedding")
    base = number(nested, "rope_theta", number(fields, "rope_theta", _ROPE_BASE))
    return shapes | {"rope_parameters": {"rope_type": "default", "rope_theta": base}}


class PplxFamily(ModelFamily):
    """A folder with config.json, model.safetensors and tokenizer.json, as downloaded."""

    title = "pplx-embed"
    needs_transformers = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        return fields.get("model_type") == MODEL_TYPE

    def dimension(self, folder: Path) -> int:
        return read_folder(folder)[1].backbone.dimension

    def open(self, folder: Path) -> LoadedModel:
        shapes, config = read_folder(folder)
        files = [folder / name for name in ("config.json", "model.safetensors", TOKENIZER)]
        return LoadedModel(
            config,
            folder / TOKENIZER,
            hash_files(files),
            lazily("cdesearch.models.pplx.network:load_network", folder, shapes),
            separator=SEPARATOR if joins_chunks(read_fields(folder / "config.json")) else None,
        )

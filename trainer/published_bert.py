"""Read a published BERT as the backbone of this project's models, which training starts from."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import Backbone, bert_state
from cdesearch.models.config import BackboneConfig
from cdesearch.models.meta_device import on_meta_device
from cdesearch.models.published_fields import MAX_LAYERS, REMEDY, check_heads, number, refuse_unsupported, whole_number
from cdesearch.models.published_weights import check_state

_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "hidden_act": ("gelu",),
    "is_decoder": (False,),
    "position_embedding_type": ("absolute",),
}
_SIZES = {
    "vocabulary": "vocab_size",
    "dimension": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
}
# Prefixes of weights that were used in training and are not needed to embed.
_HEADS = ("pooler.", "cls.", "embeddings.position_ids")


def load_bert(fields: Mapping[str, Any], state: Mapping[str, Tensor]) -> tuple[Backbone, BackboneConfig]:
    """A published BERT in fp32, from its config.json's fields and its tensors by published name.

    Raises a ModelError that names what is not supported, missing or unknown.
    """
    refuse_unsupported(fields, _SUPPORTED, "the BERT backbone")
    if missing := [name for name in _SIZES.values() if fields.get(name) is None]:
        raise ModelError(f"The config of the BERT backbone lacks {', '.join(missing)}.", REMEDY)
    sizes = {name: whole_number(fields, published, 1) for name, published in _SIZES.items()}
    whole_number(fields, _SIZES["n_layers"], 1, MAX_LAYERS)
    config = BackboneConfig(**sizes, norm_eps=number(fields, "layer_norm_eps", 1e-12))
    check_heads(config.dimension, config.n_heads, ("hidden_size", "num_attention_heads"))
    names = {name: name.removeprefix("bert.") for name in state}
    needed = {short: state[name].float() for name, short in names.items() if not short.startswith(_HEADS)}
    try:
        weights = bert_state(needed, config.n_layers)
    except KeyError as error:
        raise ModelError(f"The weights lack {error.args[0]}.", REMEDY) from None
    with on_meta_device():
        backbone = Backbone(config)
    check_state(weights, {name: tensor.shape for name, tensor in backbone.state_dict().items()}, "bert")
    backbone.load_state_dict(weights, assign=True)
    return backbone.eval(), config

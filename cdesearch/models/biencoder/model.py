"""A plain biencoder: one published backbone and its pooling, without a context."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import Backbone, bert_state, mean_pool
from cdesearch.models.backbones.modern_bert import ModernBert, ModernBertConfig
from cdesearch.models.backbones.nomic_bert import MAX_POSITIONS, NomicBert, NomicBertConfig, with_rounded_width
from cdesearch.models.config import BackboneConfig
from cdesearch.models.meta_device import on_meta_device
from cdesearch.models.published_fields import MAX_LAYERS, REMEDY, check_heads, number, refuse_unsupported, whole_number
from cdesearch.models.published_weights import check_state

Pooling = Literal["mean", "cls"]
State = Mapping[str, Tensor]
Built = tuple[nn.Module, State, BackboneConfig]  # a module, its weights under its names, its shapes

_BERT: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "hidden_act": ("gelu",),
    "is_decoder": (False,),
    "position_embedding_type": ("absolute",),
}
_BERT_SIZES = {
    "vocabulary": "vocab_size",
    "dimension": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
}
# Prefixes of weights that were used in training and are not needed to embed.
_HEADS = ("pooler.", "cls.", "head.", "decoder.", "classifier.", "lm_head.", "embeddings.position_ids")


class Biencoder(nn.Module):
    """Token ids to pooled vectors; texts are padded on the right."""

    reads_context = False
    prefix_rows = 0

    def __init__(self, backbone: nn.Module, pooling: Pooling) -> None:
        super().__init__()
        self.backbone = backbone
        self._pooling = pooling

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, d), not normalised."""
        return self.pooled(input_ids, attention_mask, attention_mask, None)

    def cache(self, vectors: Tensor, is_null: Tensor) -> None:
        """Return None: a biencoder reads no context."""

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: None) -> None:
        """Return None: a biencoder reads no context."""

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, context: None) -> Tensor:  # noqa: ARG002 (there is no context)
        """(B, T, d) states of all tokens."""
        states: Tensor = self.backbone(input_ids, attention_mask)
        return states

    def pooled(self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, context: None) -> Tensor:
        """(B, d), not normalised; `weights` (B, T) of the tokens in the mean, zero on padding."""
        states = self.token_states(input_ids, attention_mask, context)
        return states[:, 0] if self._pooling == "cls" else mean_pool(states, weights)


def load_backbone(fields: Mapping[str, Any], state: State) -> tuple[nn.Module, BackboneConfig]:
    """A published backbone in fp32, from its config.json's fields and its tensors by published name.

    Raises a ModelError that names what is not supported, missing or unknown.
    """
    kind = fields.get("model_type")
    if not isinstance(kind, str) or kind not in _BUILDERS:
        raise ModelError(
            f"model_type is {kind!r:.40}, which is not supported.", f"Use a model of type {', '.join(_BUILDERS)}."
        )
    names = {name: name.removeprefix("bert.").removeprefix("model.") for name in state}
    needed = {short: state[name].float() for name, short in names.items() if not short.startswith(_HEADS)}
    module, weights, config = _BUILDERS[kind](fields, needed)
    check_state(weights, {name: tensor.shape for name, tensor in module.state_dict().items()}, kind)
    module.load_state_dict(weights, assign=True)
    return module.eval(), config


def _bert(fields: Mapping[str, Any], state: State) -> Built:
    refuse_unsupported(fields, _BERT, "the BERT backbone")
    if missing := [name for name in _BERT_SIZES.values() if fields.get(name) is None]:
        raise ModelError(f"The config of the BERT backbone lacks {', '.join(missing)}.", REMEDY)
    sizes = {name: whole_number(fields, published, 1) for name, published in _BERT_SIZES.items()}
    whole_number(fields, _BERT_SIZES["n_layers"], 1, MAX_LAYERS)
    config = BackboneConfig(**sizes, norm_eps=number(fields, "layer_norm_eps", 1e-12))
    check_heads(config.dimension, config.n_heads, ("hidden_size", "num_attention_heads"))
    try:
        weights = bert_state(state, config.n_layers)
    except KeyError as error:
        raise ModelError(f"The weights lack {error.args[0]}.", REMEDY) from None
    with on_meta_device():
        return Backbone(config), weights, config


def _nomic_bert(fields: Mapping[str, Any], state: State) -> Built:
    config = NomicBertConfig.from_published(with_rounded_width(fields, state))
    with on_meta_device():
        return NomicBert(config), state, _shapes(config, MAX_POSITIONS)


def _modern_bert(fields: Mapping[str, Any], state: State) -> Built:
    config = ModernBertConfig.from_published(fields)
    n_positions = whole_number(fields, "max_position_embeddings", 8192)
    with on_meta_device():
        return ModernBert(config), state, _shapes(config, n_positions)


def _shapes(config: NomicBertConfig | ModernBertConfig, n_positions: int) -> BackboneConfig:
    names = ("vocabulary", "dimension", "n_layers", "n_heads", "inner", "norm_eps")
    return BackboneConfig(n_positions=n_positions, **{name: getattr(config, name) for name in names})


_BUILDERS: dict[str, Callable[[Mapping[str, Any], State], Built]] = {
    "bert": _bert,
    "nomic_bert": _nomic_bert,
    "modernbert": _modern_bert,
}

"""NomicBERT (nomic-ai/nomic-bert-2048), the backbone of cde-small-v1. Parameters have their published names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import Projected, project
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.joint import JointLayer, Step, through
from cdesearch.models.backbones.rotary import Rotation, attend_rotated, rotation
from cdesearch.models.published_fields import MAX_LAYERS, check_heads, number, refuse_unsupported, whole_number

# Fields whose other values would be another network.
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "activation_function": ("swiglu",),
    "causal": (False,),
    "mlp_fc1_bias": (False,),
    "mlp_fc2_bias": (False,),
    "parallel_block": (False,),
    "prenorm": (False,),
    "qkv_proj_bias": (False,),
    "rotary_emb_fraction": (1.0,),
    "rotary_emb_interleaved": (False,),
    "rotary_emb_scale_base": (),
    "type_vocab_size": (2,),
    "use_rms_norm": (False,),
}


_FIRST_NAMES = {
    "hidden_act": "activation_function",
    "hidden_size": "n_embd",
    "intermediate_size": "n_inner",
    "layer_norm_eps": "layer_norm_epsilon",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}


@dataclass(frozen=True, slots=True)
class NomicBertConfig:
    """Shape of one NomicBERT (post-norm, rotary positions, SwiGLU, biases only in norms); by default as published."""

    vocabulary: int = 30528
    dimension: int = 768
    n_layers: int = 12
    n_heads: int = 12
    inner: int = 3072
    norm_eps: float = 1e-12
    rotary_base: float = 1000.0

    @classmethod
    def from_published(cls, fields: Mapping[str, Any], n_layers: int | None = None) -> "NomicBertConfig":
        """Read the backbone's own config.json; absent fields have the published values. Raises ModelError.

        With `n_layers` only the first so many layers are used.
        """
        fields = _as_first_published(fields)
        refuse_unsupported(fields, _SUPPORTED, "the NomicBERT backbone")
        dimension = whole_number(fields, "n_embd", cls().dimension)
        n_heads = whole_number(fields, "n_head", cls().n_heads)
        check_heads(dimension, n_heads, ("n_embd", "n_head"))
        depth = whole_number(fields, "n_layer", cls().n_layers, MAX_LAYERS)
        multiple = whole_number(fields, "pad_vocab_size_multiple", 1)  # published tables are padded to a multiple
        return cls(
            vocabulary=-(-whole_number(fields, "vocab_size", cls().vocabulary) // multiple) * multiple,
            dimension=dimension,
            n_layers=min(depth, n_layers or depth),
            n_heads=n_heads,
            inner=whole_number(fields, "n_inner", cls().inner),
            norm_eps=number(fields, "layer_norm_epsilon", cls().norm_eps),
            rotary_base=number(fields, "rotary_emb_base", cls().rotary_base),
        )


def _as_first_published(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under their first names: transformers 5 has the same network with the field names of BERT.

    Raises ModelError.
    """
    older = {_FIRST_NAMES.get(name, name): value for name, value in fields.items()}
    if older.get("activation_function") == "silu":  # the activation of the gate, which this MLP always has
        older["activation_function"] = "swiglu"
    rope = fields.get("rope_parameters") or {}
    refuse_unsupported(rope, {"rope_type": ("default", "dynamic")}, "the NomicBERT backbone's rope_parameters")
    if "rope_theta" in rope:
        older.setdefault("rotary_emb_base", rope["rope_theta"])
    return older


class NomicBert(nn.Module):
    """Token ids to token states; texts are padded on the right."""

    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.emb_ln = nn.LayerNorm(config.dimension, config.norm_eps)
        self.encoder = _Encoder(config)

    def embed(self, input_ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, d) rows of tokens and token type 0, not yet normalised."""
        return self.embeddings(input_ids)  # type: ignore[no-any-return] # a module returns Any

    @property
    def first_layer(self) -> JointLayer:
        """The layer that receives the rows of `enter`."""
        return cast("JointLayer", self.encoder.layers[0])

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) as the input of the first layer, normalised."""
        return self.emb_ln(rows)  # type: ignore[no-any-return] # a module returns Any

    def steps(self, attention_mask: Tensor, n_free: int = 0, start: int = 0) -> list[Step]:
        """The layers for rows with the 0/1 mask (B, S), each with its additive mask and rotation.

        The first `n_free` rows have no position, so they are not rotated. The next row is at position `start`.
        """
        config, dtype = self.config, self.emb_ln.weight.dtype
        n_rotated = attention_mask.shape[1] - n_free
        turns = functional.pad(torch.arange(start, start + n_rotated, device=attention_mask.device), (n_free, 0))
        by = rotation(turns[:, None], config.dimension // config.n_heads, config.rotary_base, dtype)
        mask = additive_mask(attention_mask, dtype)
        return [(cast("JointLayer", layer), mask, by) for layer in self.encoder.layers]

    def leave(self, states: Tensor) -> Tensor:
        """The states (B, T, d) of the last layer, unchanged: that layer ends with a norm."""
        return states

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, T, d) states, without a context."""
        return through(self.steps(attention_mask), self.enter(self.embed(input_ids)))


class _Embeddings(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocabulary, config.dimension)
        self.token_type_embeddings = nn.Embedding(2, config.dimension)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.word_embeddings(input_ids) + self.token_type_embeddings.weight[0]  # type: ignore[no-any-return] # a module returns Any


class _Encoder(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.n_layers))


class _Layer(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.attn = _Attention(config)
        self.norm1 = nn.LayerNorm(config.dimension, config.norm_eps)
        self.mlp = _GatedMLP(config)
        self.norm2 = nn.LayerNorm(config.dimension, config.norm_eps)

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        return project(self.attn.Wqkv, rows, n_queries)

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation) -> Tensor:
        mixed = attend_rotated(projected, self.attn.n_heads, by, mask)
        rows = self.norm1(rows[:, -mixed.shape[1] :] + self.attn.out_proj(mixed))
        return self.norm2(rows + self.mlp(rows))  # type: ignore[no-any-return] # a module returns Any


class _Attention(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.Wqkv = nn.Linear(config.dimension, 3 * config.dimension, bias=False)
        self.out_proj = nn.Linear(config.dimension, config.dimension, bias=False)


class _GatedMLP(nn.Module):
    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__()
        self.fc11 = nn.Linear(config.dimension, config.inner, bias=False)
        self.fc12 = nn.Linear(config.dimension, config.inner, bias=False)
        self.fc2 = nn.Linear(config.inner, config.dimension, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        return self.fc2(self.fc11(rows) * functional.silu(self.fc12(rows)))  # type: ignore[no-any-return] # a module returns Any


def with_rounded_width(backbone: Mapping[str, Any], state: Mapping[str, Tensor]) -> dict[str, Any]:
    """The fields with `n_inner` rounded up to a multiple of 256, as NomicBERT's code does, if the weights agree."""
    n_inner = backbone.get("n_inner")
    widths = {len(tensor) for name, tensor in state.items() if name.endswith(".mlp.fc11.weight")}
    if isinstance(n_inner, int) and widths == {-(-n_inner // 256) * 256}:
        return {**backbone, "n_inner": widths.pop()}
    return dict(backbone)

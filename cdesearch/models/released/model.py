"""The networks of the released CDE checkpoints, jxm/cde-small-v1 and jxm/cde-small-v2.

Both are joint models (CDE section 4.2): context rows and 8 soft prompts precede the text in one sequence, all rows
attend to all, and only the text's rows are pooled. The results are those of the reference, the public code at
github.com/jxmorris12/cde, commit 9d776b0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.backbones.joint import ContextPrefix, JointLayer, Step, text_states
from cdesearch.models.backbones.modern_bert import ModernBert, ModernBertConfig
from cdesearch.models.backbones.nomic_bert import NomicBert, NomicBertConfig
from cdesearch.models.checkpoint_files import number, read_fields, refuse_unsupported, whole_number
from cdesearch.models.config import BackboneConfig, ModelConfig, published_config
from cdesearch.models.published_weights import check_state, on_meta_device, read_weights

Variant = Literal["v1", "v2"]
Backbone = NomicBertConfig | ModernBertConfig

N_SOFT_PROMPTS = 8
NULL = "second_stage_model.sequence_dropout_null_embedding"
_HEAD = 64  # dimensions of a head
QUERY_PREFIX, DOCUMENT_PREFIX = "search_query: ", "search_document: "
_REMEDY = "Download jxm/cde-small-v1 or jxm/cde-small-v2 completely and name its folder."
_DROPOUT = "transductive_sequence_dropout_prob"
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
            has_null=number(config, _DROPOUT, 0.005, minimum=0.0) > 0,
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


def stored_shape(state: Mapping[str, Tensor], variant: Variant) -> Backbone:
    """The shape of the backbone: that of the published one, with the widths of the weights. Raises ModelError.

    The depth is not derived: a checkpoint that lacks a layer must not pass as a smaller network. Heads have 64
    dimensions in every published NomicBERT and ModernBERT.
    """
    kind, names, axis = (
        (ModernBertConfig, ("embeddings.tok_embeddings.weight", "layers.0.mlp.Wo.weight"), 1)
        if variant == "v2"
        else (NomicBertConfig, ("embeddings.word_embeddings.weight", "encoder.layers.0.mlp.fc11.weight"), 0)
    )
    found = [state.get(f"second_stage_model.backbone.{name}") for name in names]
    words, inner = (None if tensor is None or tensor.ndim != 2 else tensor.shape for tensor in found)
    if words is None or inner is None:  # whatever is wrong with the weights is named when they are compared
        return kind()
    vocabulary, dimension = words
    if not dimension or dimension % _HEAD:
        raise ModelError(f"The weights have {dimension} dimensions, which is no multiple of {_HEAD}.", _REMEDY)
    return kind(vocabulary, dimension, n_heads=dimension // _HEAD, inner=inner[axis])


class ReleasedModel(nn.Module):
    """Both stages of a released checkpoint, which share no weights. Texts are padded on the right."""

    reads_context = True

    def __init__(self, config: ReleasedConfig) -> None:
        super().__init__()
        self.config = config
        d = config.first_stage.dimension
        mlp = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))
        self.first_stage_model = nn.ModuleDict({"embedder": _backbone(config.first_stage), "mlp": mlp})
        self.second_stage_model = _SecondStage(config)

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, d): the mean over all tokens through an MLP, not normalised."""
        states = self.first_stage_model["embedder"](input_ids, attention_mask)
        return self.first_stage_model["mlp"](mean_pool(states, attention_mask))  # type: ignore[no-any-return] # a module returns Any

    @property
    def prefix_rows(self) -> int:
        """How many rows precede each text: the context and the soft prompts."""
        return self.config.corpus_size + N_SOFT_PROMPTS

    def cache(self, vectors: Tensor, is_null: Tensor) -> None:
        pass  # the rows of a context depend on the text in every layer, so nothing can be stored

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: None) -> ContextPrefix:  # noqa: ARG002 (see `cache`)
        """The prefix of a context (J, d), with the null vector where `is_null` (J,); raises ModelError."""
        null = self.second_stage_model.sequence_dropout_null_embedding
        if null is not None:
            vectors = torch.where(is_null[:, None], null, vectors)
        elif is_null.any():
            raise ModelError(f"This checkpoint has no null embedding: {_DROPOUT} is 0.", "Give it a context.")
        # The models need a full context: like the reference, repeat the texts of a corpus that has fewer.
        repeated = torch.arange(self.config.corpus_size, device=vectors.device) % len(vectors)
        return self.second_stage_model.context_prefix(vectors[repeated])

    def pooled(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        weights: Tensor,  # noqa: ARG002 (it pools by its own rule)
        context: ContextPrefix,
    ) -> tuple[Tensor, None]:
        """(B, d), not normalised, of texts (B, T) in the context that `prepare_context` has prepared.

        An MLP follows the pooling, so the states of tokens cannot be compared.
        """
        return self.second_stage_model(input_ids, attention_mask, context), None


class _SecondStage(nn.Module):
    def __init__(self, config: ReleasedConfig) -> None:
        super().__init__()
        d = config.second_stage.dimension
        self.config = config
        self.backbone = _backbone(config.second_stage)
        self.prompt_projection = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, N_SOFT_PROMPTS * d))
        self.output_projection = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.sequence_dropout_null_embedding = nn.Parameter(torch.zeros(d)) if config.has_null else None

    @property
    def soft_prompts(self) -> Tensor:
        """The 8 soft prompts (8, d). They are constant, because their projection's input is always a vector of ones."""
        width = cast("nn.Linear", self.prompt_projection[0]).in_features
        ones = next(self.prompt_projection.parameters()).new_ones(width)
        return self.prompt_projection(ones).reshape(N_SOFT_PROMPTS, -1)  # type: ignore[no-any-return] # a module returns Any

    def context_prefix(self, context: Tensor) -> ContextPrefix:
        """The rows that precede every text: those of a context (`corpus_size`, d), then the soft prompts."""
        prompts = self.soft_prompts
        rows = self.backbone.enter(torch.cat([context.to(prompts), prompts]))[None]
        return ContextPrefix(rows, cast("JointLayer", self.backbone.layers[0]).project(rows))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, prefix: ContextPrefix) -> Tensor:
        before = attention_mask.new_ones(len(input_ids), prefix.rows.shape[1])
        steps = self.steps(torch.cat([before, attention_mask], dim=1))
        text = self.backbone.enter(self.backbone.embed(input_ids))  # of v2, normalised for the second time
        states = self.backbone.leave(text_states(prefix, text, steps))
        pooled = mean_pool(states, self._pooling_weights(input_ids, attention_mask))
        projected: Tensor = self.output_projection(pooled)
        return projected + pooled if self.config.variant == "v2" else projected

    def steps(self, mask: Tensor) -> list[Step]:
        """The layers for a 0/1 mask (B, S) of context rows, then soft prompts and text."""
        if isinstance(self.backbone, ModernBert) or self.config.rotates_context:
            return self.backbone.steps(mask)  # context rows have ordinary positions
        return self.backbone.steps(mask, n_free=self.config.corpus_size)

    def _pooling_weights(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) of 0/1: the rows to pool. If so configured, the prefix up to the first colon is excluded.

        A colon that is the first token does not end a prefix.
        """
        if not self.config.skips_instruction:
            return attention_mask
        # The token of ":" in the tokenizers of v2 (ModernBERT-base) and of v1 (bert-base-uncased). The reference takes
        # the first token of ": ", which is the token that a prefix contains.
        colon = 27 if self.config.variant == "v2" else 1024
        ends = (input_ids == colon) & attention_mask.bool()
        ends[:, 0] = False
        seen = ends.cumsum(1)
        is_instruction = ends.any(1, keepdim=True) & ((seen == 0) | (ends & (seen == 1)))
        return attention_mask * ~is_instruction


def _backbone(config: Backbone) -> NomicBert | ModernBert:
    return ModernBert(config) if isinstance(config, ModernBertConfig) else NomicBert(config)


def load_released(
    config: Mapping[str, Any], state: Mapping[str, Tensor], backbone: Backbone | None = None
) -> ReleasedModel:
    """A released checkpoint in fp32, from its config.json's fields and its tensors by published name.

    `backbone` is by default the published one, with the widths of the weights. v1 is computed as it was trained, which
    the code on the hub does not do. Raises ModelError.
    """
    # If the field is absent, the weights decide: the reference then has no null embedding, but published models do.
    config = {_DROPOUT: float(NULL in state), **config}
    read = ReleasedConfig.from_published(config, backbone or stored_shape(state, variant_of(config)))
    with on_meta_device():
        model = ReleasedModel(read)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    check_state(state, shapes)
    model.load_state_dict({name: state[name].to(torch.float32, copy=True) for name in shapes}, assign=True)
    return model.eval()


def open_released(folder: Path) -> ReleasedModel:
    """Read a released folder into fp32; raises ModelError. Nothing is downloaded, and no code of the folder runs."""
    config = read_fields(folder / "config.json")
    state = read_weights(folder)
    if NULL in state and not config.get(_DROPOUT):
        # The published config is for inference, where nothing is dropped out. The weights may still contain the null
        # embedding of training.
        config[_DROPOUT] = 0.005
    try:
        return load_released(config, state)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None


def as_model_config(config: ReleasedConfig) -> ModelConfig:
    """The configuration in the terms of this project, for the published vectors: no whitening, no document context."""
    one = config.second_stage
    sizes = one.vocabulary, one.dimension, one.n_layers, one.n_heads, one.inner, config.max_tokens
    return published_config(
        BackboneConfig(*sizes, norm_eps=one.norm_eps),
        context_attention="joint",
        context_size=config.corpus_size,
        max_tokens=config.max_tokens,
        query_prefix=QUERY_PREFIX,
        document_prefix=DOCUMENT_PREFIX,
    )

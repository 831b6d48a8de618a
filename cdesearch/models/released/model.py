"""The released CDE checkpoints, jxm/cde-small-v1 and jxm/cde-small-v2: their weights in two stages of our own code.

Both are joint models (CDE section 4.2): context rows and 8 soft prompts stand before the text in one sequence, all
attend to all, and the text's rows alone are pooled. Facts: the public code at github.com/jxmorris12/cde, 9d776b0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from cdesearch.errors import InputError, ModelError
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.backbones.joint import ContextPrefix, Step, make_prefix, text_states
from cdesearch.models.backbones.modern_bert import ModernBert, ModernBertConfig
from cdesearch.models.backbones.nomic_bert import NomicBert, NomicBertConfig
from cdesearch.models.published_fields import number, refuse_unsupported, whole_number
from cdesearch.models.released.state import (
    N_SOFT_PROMPTS,
    NULL,
    check_state,
    prompt_shapes,
    soft_prompts,
    with_rounded_width,
)

Variant = Literal["v1", "v1_hub_remote_code", "v2"]

# A released config.json holds every argument of its training run; these are the ones whose other values would be
# another model. That the text alone is pooled is what both released models do, whatever the field's default was.
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
    """What the published config.json files say of the computation."""

    variant: Variant
    first_stage: NomicBertConfig | ModernBertConfig
    second_stage: NomicBertConfig | ModernBertConfig
    corpus_size: int  # context rows; further ones are left out
    max_tokens: int
    has_null: bool
    rotates_context: bool  # v1: context rows, too, have positions
    skips_instruction: bool  # the pool leaves out the prefix

    @classmethod
    def from_published(
        cls, config: Mapping[str, Any], backbone: Mapping[str, Any], variant: Variant | None = None
    ) -> "ReleasedConfig":
        """From the checkpoint's and the backbone's fields, absent ones as published; raises ModelError."""
        variant = _variant(config, variant)
        refuse_unsupported(config, _SUPPORTED, "the checkpoint")
        stages: list[NomicBertConfig | ModernBertConfig] = []
        # The reference cuts the first stage by a field of its own: `limit_layers` is the second stage's.
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
            has_null=number(config, "transductive_sequence_dropout_prob", 0.005, least=0.0) > 0,
            rotates_context=config.get("disable_transductive_rotary_embedding") is False,
            skips_instruction=bool(config.get("pool_ignore_instruction_tokens")),
        )


def _variant(config: Mapping[str, Any], asked: Variant | None) -> Variant:
    """The one asked for, or what the config's backbone makes it; raises ModelError where the two are at odds."""
    if asked is not None and asked not in get_args(Variant):
        raise ModelError(f"There is no variant {asked!r}.", f"Name one of {', '.join(get_args(Variant))}.")
    found: Variant | None = asked
    for field in ("embedder", "dataset_backbone"):
        name = str(config.get(field) or "").lower()
        of_name: Variant | None = "v2" if "modernbert" in name else "v1" if "nomic" in name else None
        # A name we do not know may be a local folder: with a variant asked for, the weights' own names decide.
        if of_name and found and (of_name == "v2") != (found == "v2"):
            raise ModelError(
                f"{field} is {config[field]!r}, which is not the backbone of variant {found}.",
                "Name the variant that the checkpoint is of; both stages have one kind of backbone.",
            )
        found = found or of_name
    if found is None:
        raise ModelError(
            f"The config's embedder is {config.get('embedder')!r}, neither NomicBERT nor ModernBERT.",
            "Take the folder of jxm/cde-small-v1 or jxm/cde-small-v2.",
        )
    return found


class ReleasedModel(nn.Module):
    """Both stages of a released checkpoint; no weight is shared. Texts are padded on the right."""

    def __init__(self, config: ReleasedConfig) -> None:
        super().__init__()
        self.config = config
        self.first_stage_model = _FirstStage(config)
        self.second_stage_model = _SecondStage(config)

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, d): the mean over all tokens through an MLP, not normalised."""
        return self.first_stage_model(input_ids, attention_mask)  # type: ignore[no-any-return] # a module returns Any

    def second_stage(self, input_ids: Tensor, attention_mask: Tensor, context_vectors: Tensor | None) -> Tensor:
        """(B, T) ids and 0/1 mask in a context of first-stage vectors (J, d) to (B, d), not normalised.

        Of a larger context the first `corpus_size` vectors are taken; None is the null context. Raises InputError.
        """
        context = self._null().expand(self.config.corpus_size, -1) if context_vectors is None else context_vectors
        d = self.config.second_stage.dimension
        if context.ndim != 2 or context.shape[1] != d or not len(context):
            raise InputError(
                f"The context is of shape {tuple(context.shape)} and has to be one vector of {d} numbers or more.",
                "Give the first stage's vectors, (J, d).",
            )
        prefix = self.second_stage_model.context_prefix(context)
        return self.second_stage_model(input_ids, attention_mask, prefix)  # type: ignore[no-any-return] # a module returns Any

    @property
    def reads_context(self) -> bool:
        """Always."""
        return True

    @property
    def prefix_rows(self) -> int:
        """How many rows precede each text: the context and the soft prompts."""
        return self.config.corpus_size + N_SOFT_PROMPTS

    def cache(self, vectors: Tensor, is_null: Tensor) -> None:
        """Nothing: texts reach the context rows in every layer."""

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: None) -> ContextPrefix:  # noqa: ARG002 (see `cache`)
        """A context (J, d), nulls where `is_null` (J,), as `pooled` wants it for every batch; raises ModelError."""
        if is_null.any():
            vectors = torch.where(is_null[:, None], self._null(), vectors)
        # The models know no smaller context: their authors repeat the texts of a corpus that has too few.
        repeated = torch.arange(self.config.corpus_size, device=vectors.device) % len(vectors)
        return self.second_stage_model.context_prefix(vectors[repeated])

    def pooled(self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, held: ContextPrefix) -> Tensor:  # noqa: ARG002 (it pools by its own rule)
        """(B, d), not normalised, of texts (B, T) in the context that `prepare_context` has prepared."""
        return self.second_stage_model(input_ids, attention_mask, held)  # type: ignore[no-any-return] # a module returns Any

    def _null(self) -> Tensor:
        null = self.second_stage_model.sequence_dropout_null_embedding
        if null is None:
            raise ModelError(
                "This checkpoint has no null embedding: transductive_sequence_dropout_prob is 0.", "Give it a context."
            )
        return null


class _FirstStage(nn.Module):
    def __init__(self, config: ReleasedConfig) -> None:
        super().__init__()
        d = config.first_stage.dimension
        self.embedder = _backbone(config.first_stage)
        self.mlp = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.mlp(mean_pool(self.embedder(input_ids, attention_mask), attention_mask))  # type: ignore[no-any-return] # a module returns Any


class _SecondStage(nn.Module):
    soft_prompts: Tensor

    def __init__(self, config: ReleasedConfig) -> None:
        super().__init__()
        d = config.second_stage.dimension
        self.config = config
        self.backbone = _backbone(config.second_stage)
        self.register_buffer("soft_prompts", torch.zeros(N_SOFT_PROMPTS, d), persistent=False)
        self.output_projection = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.sequence_dropout_null_embedding = nn.Parameter(torch.zeros(d)) if config.has_null else None

    def context_prefix(self, context: Tensor) -> ContextPrefix:
        """The rows that precede every text: the first `corpus_size` of a context (J, d), then the soft prompts."""
        rows = torch.cat([context[: self.config.corpus_size].to(self.soft_prompts), self.soft_prompts])
        return make_prefix(self.enter(rows), self.backbone.first_layer)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, prefix: ContextPrefix) -> Tensor:
        """(B, d) of texts (B, T) in a context."""
        n_prefix = prefix.rows.shape[1]
        mask = torch.cat([attention_mask.new_ones(len(input_ids), n_prefix), attention_mask], dim=1)
        steps = self.steps(mask, n_prefix - N_SOFT_PROMPTS)
        states = self.backbone.leave(text_states(prefix, self.enter(self.backbone.embed(input_ids)), steps))
        pooled = mean_pool(states, self._pooling_weights(input_ids, attention_mask))
        projected: Tensor = self.output_projection(pooled)
        return projected + pooled if self.config.variant == "v2" else projected

    def enter(self, rows: Tensor) -> Tensor:
        """Rows (..., d) as the first layer takes them: all are normalised, the text's of v2 for a second time."""
        if self.config.variant == "v1_hub_remote_code" and isinstance(self.backbone, NomicBert):
            # It hands rows to a backbone that adds the token type to whatever it gets: soft prompts have it once,
            # as context has, and the text twice.
            rows = rows + self.backbone.embeddings.token_type_embeddings.weight[0]
        return self.backbone.enter(rows)

    def steps(self, mask: Tensor, n_context: int) -> list[Step]:
        """The layers, for `n_context` rows of context, soft prompts and text together, of this 0/1 mask (B, S)."""
        if isinstance(self.backbone, ModernBert) or self.config.rotates_context:
            return self.backbone.steps(mask)  # nothing is switched off: context has ordinary positions
        # A smaller context leaves soft prompts and text at the positions that they were trained at.
        return self.backbone.steps(mask, n_free=n_context, start=self.config.corpus_size)

    def _pooling_weights(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) of 0/1: the text, without what ends with its first colon after the first token if so configured."""
        if not self.config.skips_instruction:
            return attention_mask
        # The first token of ": " in the tokenizers of v2 (ModernBERT-base, GPT-NeoX's order of ASCII) and of v1
        # (bert-base-uncased): the reference asks its tokenizer, and a text's prefix is cut into tokens as ": " is.
        colon = 27 if self.config.variant == "v2" else 1024
        ends = (input_ids == colon) & attention_mask.bool()
        ends[:, 0] = False
        seen = ends.cumsum(1)
        is_instruction = ends.any(1, keepdim=True) & ((seen == 0) | (ends & (seen == 1)))
        return attention_mask * ~is_instruction


def _backbone(config: NomicBertConfig | ModernBertConfig) -> NomicBert | ModernBert:
    return ModernBert(config) if isinstance(config, ModernBertConfig) else NomicBert(config)


def load_released(
    config: Mapping[str, Any],
    state: Mapping[str, Tensor],
    backbone: Mapping[str, Any] | None = None,
    variant: Variant | None = None,
) -> ReleasedModel:
    """A released checkpoint in fp32, from its config.json's fields and its tensors by published name.

    `backbone` holds the fields of the backbone's own config.json, absent ones as published. `variant` says how v1 is
    computed: as trained, or as the code on the hub does; without one, the config's embedder tells v1 from v2.
    Raises ModelError.
    """
    # Where the field is absent, the reference has no null embedding and the published models have: the weights tell.
    config = {"transductive_sequence_dropout_prob": float(NULL in state), **config}
    read = ReleasedConfig.from_published(config, with_rounded_width(backbone or {}, state), variant)
    with torch.device("meta"):
        model = ReleasedModel(read)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    prompts = prompt_shapes(read.second_stage.dimension)
    check_state(state, {**shapes, **prompts}, read.variant)
    model.load_state_dict({name: state[name].to(torch.float32, copy=True) for name in shapes}, assign=True)
    model.second_stage_model.soft_prompts = soft_prompts(state)
    return model.eval()

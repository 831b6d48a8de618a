"""The model and the whitening head with which a recipe starts, in training mode."""

from dataclasses import replace
from typing import Any

from torch import nn

from cdesearch.errors import InputError
from cdesearch.models.config import NO_STATISTICS, ModelConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from trainer.loss.whitening_head import WhiteningHead
from trainer.recipe import ModelChoice, Recipe
from trainer.start import is_published, start_model

FIRST_WEIGHT = 0.01  # the initial weight of a context in the softmax that it shares with the text


def starting_model(choice: ModelChoice) -> ContextualModel:
    """The start of a recipe in training mode, its gates as the recipe says; raises ModelError, InputError."""
    reads_context = choice.contextual and choice.gated_attention
    if is_published(choice.start):
        model = start_model(
            choice.start,
            first_stage=choice.first_stage if reads_context else "shared",
            context_attention=choice.context_attention,
            context_sink=reads_context and choice.context_attention == "cached" and choice.context_sink,
            context_source=choice.context_source if reads_context else "pooled",
            context_tokens=choice.context_tokens,
            n_layers=choice.n_layers,
            first_stage_layers=choice.first_stage_layers if reads_context else None,
        )
    else:
        model = load_checkpoint(choice.start)
        _check_shape(choice, model.config, reads_context=reads_context)
    if choice.window_tokens:
        _add_windows(choice, model)
    stage = model.second_stage
    if stage.gates_are_zero or not reads_context:
        # In one softmax, the gradient of a gate is proportional to its weight, so it cannot start at zero.
        least = FIRST_WEIGHT if model.config.context_attention == "one_softmax" else 0.0
        for cross_attention in stage.cross_attention:
            cross_attention.set_weight(max(choice.gate, least) if reads_context else 0.0)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = choice.dropout
    if choice.freeze_first_stage and model.own_first_stage is not None:
        model.own_first_stage.requires_grad_(False)
    if not reads_context:
        model.requires_grad_(False)
        model.second_stage.backbone.requires_grad_(True)
    if choice.freeze_tokens:
        for backbone in filter(None, (model.second_stage.backbone, model.own_first_stage)):
            backbone.tokens.requires_grad_(False)
    return model.train()


def starting_head(choice: ModelChoice, config: ModelConfig) -> WhiteningHead:
    """The whitening head of the start, or one that changes no vector and is not trained."""
    if choice.statistics:
        return WhiteningHead(config.statistics)
    return WhiteningHead(NO_STATISTICS).requires_grad_(False)


def context_is_untrained(choice: ModelChoice, model: ContextualModel) -> bool:
    """Whether the null vector will be trained and no earlier training has used it."""
    stage = model.second_stage
    is_new = is_published(choice.start) or stage.gates_are_zero or not bool(stage.null.any())
    return is_new and stage.null.requires_grad


def check_widths(recipe: Recipe, config: ModelConfig) -> None:
    """Raise InputError if vectors are to be cut to more dimensions than the model has."""
    widest, dimension = max(recipe.objective.matryoshka, default=0), config.backbone.dimension
    if widest > dimension:
        raise InputError(
            f"objective.matryoshka has {widest}, but {recipe.model.start} has {dimension} dimensions.",
            f"Name numbers of at most {dimension}.",
        )


def _add_windows(choice: ModelChoice, model: ContextualModel) -> None:
    """Let the model read chunks in the windows of the recipe; raises InputError if it has too few positions."""
    limit = model.config.backbone.n_positions
    if choice.window_positions == "running" and choice.window_tokens > limit:
        raise InputError(
            f"model.window_tokens is {choice.window_tokens}, but {choice.start} has {limit} positions.",
            f"Set it to {limit} or less, or set model.window_positions to restarted.",
        )
    windows = {"window_tokens": choice.window_tokens, "window_positions": choice.window_positions}
    model.config = replace(model.config, **windows)  # type: ignore[arg-type] # the values have the types of the fields


def _check_shape(choice: ModelChoice, config: ModelConfig, *, reads_context: bool) -> None:
    """Raise InputError if a recipe asks for another shape than its checkpoint has."""
    shape: dict[str, Any] = {"n_layers": config.backbone.n_layers}
    if reads_context:
        shape |= {
            "context_attention": config.context_attention,
            "first_stage": config.first_stage,
            "first_stage_layers": config.first_stage_layers,
            "context_sink": config.context_sink,
            "context_source": config.context_source,
            "context_tokens": config.context_tokens,
        }
    for key, value in shape.items():
        if key in choice.set_keys and getattr(choice, key) not in (None, value):
            raise InputError(
                f"model.{key} is {getattr(choice, key)}, but {choice.start} was made with {value}.",
                "Leave the key out, or start from a published biencoder.",
            )

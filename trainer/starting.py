"""The model and the whitening head with which a recipe starts, in training mode."""

from dataclasses import replace

import torch
from torch import nn

from cdesearch.errors import InputError
from cdesearch.models.config import NO_STATISTICS, ModelConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from trainer.data.training_batch import Tokens
from trainer.execution import evaluation_mode, mean
from trainer.loss.heads import WhiteningHead
from trainer.recipe import ModelChoice
from trainer.start import is_published, start_model


def starting_model(choice: ModelChoice) -> ContextualModel:
    """The start of a recipe in training mode; raises ModelError, InputError.

    Token embeddings are trained only with joint attention, as in the paper: the start was trained on far more pairs.
    """
    attends, is_joint = choice.attends, choice.context == "joint"
    if is_published(choice.start):
        model = start_model(
            choice.start,
            first_stage="own" if attends else "shared",
            context_attention="joint" if is_joint else "cached",
            context_sink=attends and not is_joint,
        )
    else:
        model = load_checkpoint(choice.start)
        found = model.config.context_attention
        if attends and is_joint != (found == "joint"):
            raise InputError(
                f"model.context is {choice.context}, but {choice.start} has {found} attention.",
                "Set it to joint for joint attention only, or start from a published biencoder.",
            )
    if choice.window_tokens > (limit := model.config.backbone.n_positions):
        raise InputError(
            f"model.window_tokens is {choice.window_tokens}, but {choice.start} has {limit} positions.",
            f"Set it to {limit} or less.",
        )
    if choice.window_tokens:
        model.config = replace(model.config, window_tokens=choice.window_tokens)
    if not attends:
        for gate in model.second_stage.gates:
            nn.init.zeros_(gate)
        model.requires_grad_(False)
        model.second_stage.backbone.requires_grad_(True)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    if not is_joint:
        for backbone in filter(None, (model.second_stage.backbone, model.own_first_stage)):
            backbone.tokens.requires_grad_(False)
    return model.train()


def starting_head(choice: ModelChoice, config: ModelConfig) -> WhiteningHead:
    """The whitening head of the start, or one that changes no vector and is not trained."""
    if choice.context in ("none", "attention"):
        return WhiteningHead(NO_STATISTICS).requires_grad_(False)
    return WhiteningHead(config.statistics)


def context_is_untrained(choice: ModelChoice, model: ContextualModel) -> bool:
    """Whether the null vector will be trained and no earlier training has used it."""
    stage = model.second_stage
    is_new = is_published(choice.start) or stage.gates_are_zero or not bool(stage.null.any())
    return is_new and stage.null.requires_grad


@torch.no_grad()
def start_null_vector(model: ContextualModel, texts: Tokens, micro_batch: int) -> None:
    """Set the null vector to the mean first-stage vector of some texts, so that it resembles other context vectors."""
    null = model.second_stage.null
    null.zero_()
    with evaluation_mode(model):
        for _, part in texts.micro_batches(micro_batch):
            tokens = part.to(null.device)
            null.add_(model.first_stage(tokens.ids, tokens.mask).sum(0) / len(texts))
    mean(null)  # so that the last bits are the same in all processes

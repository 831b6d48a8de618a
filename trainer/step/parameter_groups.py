"""Group the parameters of a run. Each group has its own learning rate and gradient norm."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cdesearch.models.contextual.model import ContextualModel
from trainer.loss.whitening_head import WhiteningHead
from trainer.recipe import Learning

Groups = Mapping[str, Sequence[nn.Parameter]]


def parameter_groups(model: ContextualModel, head: WhiteningHead) -> Groups:
    """The trained parameters: `backbone` of both stages, `context`, `gates`, and the whitening `head`.

    `context` contains the cross-attention, the context projection and the null vector. The gradients of the groups have
    different sizes, so each group is clipped by its own norm: a large gradient in one does not shrink the others.
    """
    groups: dict[str, list[nn.Parameter]] = {"backbone": [], "context": [], "gates": []}
    groups["head"] = [parameter for parameter in head.parameters() if parameter.requires_grad]
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups[_group(name)].append(parameter)
    return {name: parameters for name, parameters in groups.items() if parameters}


def _group(name: str) -> str:
    if name.startswith("second_stage.doors."):  # the cross-attention of the gated layers
        return "gates" if name.endswith(".gate") else "context"
    of_context = name.startswith(("second_stage.context_", "second_stage.film.", "second_stage.null"))
    return "context" if of_context else "backbone"


def make_optimizer(groups: Groups, learning: Learning) -> torch.optim.Optimizer:
    """AdamW with the rate of each group. Only matrices have weight decay, and the head has none."""
    rates = {
        "backbone": learning.rate,
        "context": learning.context_rate,
        "gates": learning.gate_rate,
        "head": learning.head_rate,
    }
    parts: dict[tuple[str, float], list[nn.Parameter]] = {}
    for name, parameters in groups.items():
        for parameter in parameters:
            decay = learning.decay if parameter.ndim > 1 else 0.0
            parts.setdefault((name, decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "peak": rates[name], "lr": rates[name], "weight_decay": decay}
            for (name, decay), parameters in parts.items()
        ]
    )


def clip_by_group(groups: Groups, limit: float) -> dict[str, Tensor]:
    """Scale the gradient of each group to a norm of at most `limit`; returns the scalar norms before that, by group."""
    return {name: nn.utils.clip_grad_norm_(parameters, limit) for name, parameters in groups.items()}


def total_norm(norms: Mapping[str, float]) -> float:
    """The norm of the whole gradient, from the norms of its groups."""
    return math.hypot(*norms.values())

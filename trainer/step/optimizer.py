"""The optimizer of a run: groups of parameters, each with a rate and a gradient norm of its own, and their schedule."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cdesearch.models.contextual.model import ContextualModel
from trainer.loss.heads import WhiteningHead

CLIP = 1.0  # the largest norm of the gradient of a group
DECAY = 0.01  # of the weights of matrices

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
    return "context" if name.startswith(("second_stage.context_", "second_stage.null")) else "backbone"


def make_optimizer(groups: Groups, rates: Mapping[str, float], beta2: float = 0.999) -> torch.optim.Optimizer:
    """AdamW with the rate of each group. Only matrices have weight decay, so the head has none."""
    parts: dict[tuple[str, float], list[nn.Parameter]] = {}
    for name, parameters in groups.items():
        for parameter in parameters:
            parts.setdefault((name, DECAY if parameter.ndim > 1 else 0.0), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "name": name, "peak": rates[name], "lr": rates[name], "weight_decay": of_part}
            for (name, of_part), parameters in parts.items()
        ],
        betas=(0.9, beta2),
    )


def clip_by_group(groups: Groups) -> dict[str, Tensor]:
    """Scale the gradient of each group to a norm of at most CLIP; returns the scalar norms before that, by group."""
    return {name: nn.utils.clip_grad_norm_(parameters, CLIP) for name, parameters in groups.items()}


def linear(step: int, n_steps: int, warmup: int) -> float:
    """The factor of the step with the number `step`, from 0: a line up in the warmup, then a line down to zero."""
    if step < warmup:
        return (step + 1) / warmup
    return (n_steps - step) / max(1, n_steps - warmup)

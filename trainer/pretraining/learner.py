"""What every kind of pretraining offers to the run: the gradient of a step, held-out losses, and a checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from trainer.step.parameter_groups import Groups


class Learner(Protocol):
    """One kind of pretraining with its modules, its texts and its loss."""

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules that are trained and stored, by name."""

    @property
    def groups(self) -> Groups:
        """The trained parameters: those of the `network`, and of the `head` if there is one."""

    @property
    def device(self) -> torch.device:
        """The device of the modules."""

    @property
    def digest(self) -> str:
        """A digest of the texts."""

    def add_gradient(self, step: int) -> Mapping[str, Tensor]:
        """Add the gradient of a step to `.grad`; returns figures (), of which `loss` is the loss."""

    def held_out(self) -> Mapping[str, float]:
        """The losses of the held-out texts by name, without dropout; empty if no texts are held out."""

    def save(self, out: Path) -> Path:
        """Write the checkpoint into the folder of the run, and return its folder."""


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context manager in which a network runs in the `precision` of a recipe."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")

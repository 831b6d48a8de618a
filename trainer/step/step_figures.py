"""The figures of one step, which stay on the device until they are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trainer.loss.contrastive import LossOutput
from trainer.step.parameter_groups import total_norm


@dataclass(frozen=True, slots=True)
class StepFigures:
    """Loss and accuracy of one step, and the scalar norms of its gradients by group of parameters."""

    step: int
    n_pairs: int
    output: LossOutput
    norms: Mapping[str, Tensor]

    def read(self) -> dict[str, Any]:
        """The figures as numbers; the host waits for the device."""
        tensors = [self.output.loss.detach(), self.output.accuracy, *self.norms.values()]
        loss, accuracy, *values = torch.stack([tensor.float() for tensor in tensors]).tolist()
        norms = dict(zip(self.norms, values, strict=True))
        return {"loss": loss, "accuracy": accuracy, "norm": total_norm(norms), "norms": norms}

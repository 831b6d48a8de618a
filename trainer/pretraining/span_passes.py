"""The passes of the spans of one step through a Condenser, with their losses of masked tokens."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from cdesearch.models.backbones.packed import Packing
from trainer.pretraining.condenser import Condenser
from trainer.pretraining.learner import autocast
from trainer.pretraining.spans import Spans
from trainer.step.cached_pass import Made, Text, WithLoss


@dataclass(frozen=True, slots=True)
class Passing:
    """How spans pass: the device, the precision, and whether the last layer predicts tokens, too."""

    device: torch.device
    precision: str
    late_mlm: bool


@dataclass(slots=True)
class SpanPasses:
    """A network for the gradient cache, and the losses of tokens so far, each as a mean over all spans of the step."""

    condenser: Condenser
    ids: Tensor  # (N, T) of all spans
    chosen: Tensor  # (N, T)
    passing: Passing
    losses: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, condenser: Condenser, spans: Spans, passing: Passing) -> "SpanPasses":
        """The passes of all `spans`."""
        device = passing.device
        zeros = {name: torch.zeros((), device=device) for name in ("head", "late")}
        return cls(condenser, spans.ids.to(device), spans.chosen.to(device), passing, zeros)

    @property
    def loss(self) -> Tensor:
        """The loss () of tokens that is trained."""
        return self.losses["head"] + self.losses["late"] if self.passing.late_mlm else self.losses["head"]

    def __call__(self, text: Text, rows: Tensor) -> Made:
        """Vectors (B, d) of the spans `rows`; with gradients also their part of the loss of tokens."""
        if torch.is_grad_enabled():
            return self.with_loss(text, rows)
        assert not isinstance(text, Packing)
        with autocast(self.passing.device, self.passing.precision):
            return self.condenser.states(text.ids, text.mask).vectors.float()

    def with_loss(self, text: Text, rows: Tensor) -> WithLoss:
        """Vectors (B, d) of the spans `rows`, and their part of the loss of tokens, which is added to `losses`."""
        assert not isinstance(text, Packing)
        length, n_chosen = text.ids.shape[1], self.chosen.sum()
        with autocast(self.passing.device, self.passing.precision):
            states = self.condenser.states(text.ids, text.mask)
            sums = self.condenser.losses(states, text.mask, self.ids[rows, :length], self.chosen[rows, :length])
        of_head, late = (one / n_chosen for one in sums)
        self.losses["head"] += of_head.detach()
        self.losses["late"] += late.detach()
        return WithLoss(states.vectors.float(), of_head + late if self.passing.late_mlm else of_head)

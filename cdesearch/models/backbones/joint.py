"""Joint attention: rows that all texts share stand before each text's own, and all attend to all.

Exact, with nothing computed twice: the first layer projects the shared rows once a context, and the last one computes
the text's rows alone, for nothing reads the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from cdesearch.models.backbones.attention import Projected
from cdesearch.models.backbones.rotary import Rotation


class JointLayer(Protocol):
    """One transformer layer, in the two halves between which rows of different origin meet."""

    def project(self, rows: Tensor, n_asking: int | None = None) -> Projected:
        """Keys and values of rows (B, S, d), and the queries of the last `n_asking` of them; None: of all."""

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation | None) -> Tensor:
        """States (B, A, d) of the last A of `rows` (B, S, d): those that have a query."""


Step = tuple[JointLayer, Tensor, Rotation | None]  # a layer with its mask (B, 1, 1 or S, S) and its rotation


@dataclass(frozen=True, slots=True)
class Shared:
    """The rows before every text, and what the first layer makes of them. They hang on the context alone."""

    rows: Tensor  # (1, P, d)
    projected: Projected  # each (1, P, d)


def share(rows: Tensor, first: JointLayer) -> Shared:
    """Rows (P, d), as the first layer takes them, ready to stand before any text."""
    return Shared(rows[None], first.project(rows[None]))


def text_states(shared: Shared, text: Tensor, steps: Sequence[Step]) -> Tensor:
    """(B, T, d) states of the text's rows after all layers."""
    n_texts, length = text.shape[:2]

    def before(ours: Tensor, theirs: Tensor) -> Tensor:
        return torch.cat([ours.expand(n_texts, -1, -1), theirs], dim=1)

    queries, keys, values = map(before, shared.projected, steps[0][0].project(text))
    rows = before(shared.rows, text)
    for index, (layer, mask, by) in enumerate(steps):
        n_asking = length if index == len(steps) - 1 else rows.shape[1]
        if index:
            queries, keys, values = layer.project(rows, n_asking)
        asking = queries[:, -n_asking:]  # of the first layer, where it is the last one, too
        rows = layer.complete(rows, (asking, keys, values), mask[..., -n_asking:, :], by)
    return rows


def through(steps: Sequence[Step], rows: Tensor) -> Tensor:
    """(B, S, d) states of all rows (B, S, d) after all layers."""
    for layer, mask, by in steps:
        rows = layer.complete(rows, layer.project(rows), mask, by)
    return rows

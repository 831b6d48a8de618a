"""Joint attention: the rows of a context precede each text's own rows in one sequence, and all attend to all.

The results are exact, and nothing is computed twice: the first layer projects the rows of the context once for all
texts, and the last layer computes only the text's rows, because nothing reads the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from cdesearch.models.backbones.attention import Projected, Rotation


class JointLayer(Protocol):
    """One transformer layer in two halves; between them the rows of context and text are put together."""

    def project(self, rows: Tensor, n_queries: int | None = None) -> Projected:
        """Keys and values of rows (B, S, d), and the queries of the last `n_queries` of them; None: of all."""

    def complete(self, rows: Tensor, projected: Projected, mask: Tensor, by: Rotation | None) -> Tensor:
        """States (B, A, d) of the last A of `rows` (B, S, d): those that have a query."""


Step = tuple[JointLayer, Tensor, Rotation | None]  # a layer with its mask (B, 1, 1 or S, S) and its rotation


@dataclass(frozen=True, slots=True)
class ContextPrefix:
    """The rows that precede every text, and their projections by the first layer. They depend on the context alone."""

    rows: Tensor  # (1, P, d), the input of the first layer
    projected: Projected  # each (1, P, d)


def text_states(prefix: ContextPrefix, text: Tensor, steps: Sequence[Step]) -> Tensor:
    """(B, T, d) states after all layers of the text's rows (B, T, d), which follow the prefix."""
    n_texts, length = text.shape[:2]

    def prepend(of_prefix: Tensor, of_texts: Tensor) -> Tensor:
        return torch.cat([of_prefix.expand(n_texts, -1, -1), of_texts], dim=1)

    queries, keys, values = map(prepend, prefix.projected, steps[0][0].project(text))
    rows = prepend(prefix.rows, text)
    for index, (layer, mask, by) in enumerate(steps):
        n_queries = length if index == len(steps) - 1 else rows.shape[1]
        if index:
            queries, keys, values = layer.project(rows, n_queries)
        last_queries = queries[:, -n_queries:]  # of the first layer, if it is also the last one
        rows = layer.complete(rows, (last_queries, keys, values), mask[..., -n_queries:, :], by)
    return rows


def through(steps: Sequence[Step], rows: Tensor) -> Tensor:
    """(B, S, d) states of all rows (B, S, d) after all layers."""
    for layer, mask, by in steps:
        rows = layer.complete(rows, layer.project(rows), mask, by)
    return rows

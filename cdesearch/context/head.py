"""The context head: a whitened vector attends to the whitened vectors of the sampled chunks of its corpus.

It is the second stage of models whose networks read each text alone. The values of its attention are the vectors of the
context themselves, so its few parameters do not depend on the dimension of the vectors, and a head that was trained
with one first stage serves others.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.models.config import HeadConfig, HeadSideConfig

Role = Literal["query", "document"]

SAME = 0.9999  # a text does not attend to itself: rounding keeps the cosine of equal texts above this
NEAREST = 10  # context vectors whose mean cosine is a feature of the gates
SINK_COSINE = 0.3  # of a text and the sink, before training
ENOUGH = 64  # context vectors; with fewer, the gates are smaller in proportion, since a head is trained with hundreds
MEAN_SCALE = 10.0  # of the mean cosine among the features, which would be small beside the others
BATCH = 8_192  # texts whose cosines (BATCH, J) are in memory at the same time


@dataclass(frozen=True, slots=True)
class Attention:
    """What n texts attend to in a context of J chunks."""

    weights: Floats  # (n, J); what is missing to 1 goes to the sink
    gates: Floats  # (n, 2) factors of the attended vector and of the mean of the context


@dataclass(frozen=True, slots=True)
class _Side:
    """The parameters for queries or for documents."""

    sharpness: np.float32  # factor of cosines before the softmax
    sink: np.float32  # logit of the sink
    hidden: Floats  # (8, 5) from the four features, and a bias, to the hidden layer of the gates
    gates: Floats  # (2, 9) from the hidden layer, and a bias, to the gates

    @classmethod
    def of(cls, config: HeadSideConfig) -> Self:
        sharpness = np.float32(np.exp(config.log_sharpness))
        sink = np.float32(sharpness * SINK_COSINE + config.sink)
        return cls(sharpness, sink, np.array(config.hidden, np.float32), np.array(config.gates, np.float32))


class ContextHead:
    """Changes whitened unit vectors by what they attend to in a context."""

    def __init__(self, config: HeadConfig) -> None:
        self._sides = {"query": _Side.of(config.query), "document": _Side.of(config.document)}

    def attend(self, vectors: Floats, context: Floats, role: Role) -> Attention:
        """What unit vectors (n, d) attend to among the unit vectors (J, d) of a context."""
        side = self._sides[role]
        cosines = vectors @ context.T
        cosines[cosines > SAME] = -np.inf
        logits = side.sharpness * cosines
        highest = np.maximum(logits.max(axis=1), side.sink)[:, None]
        raised = np.exp(logits - highest)
        weights = raised / (raised.sum(axis=1, keepdims=True) + np.exp(side.sink - highest))
        hidden = _gelu(_features(cosines, weights) @ side.hidden[:, :-1].T + side.hidden[:, -1])
        gates = hidden @ side.gates[:, :-1].T + side.gates[:, -1]
        return Attention(weights, gates * np.float32(min(1.0, len(context) / ENOUGH)))

    def apply(self, vectors: Floats, context: Floats, role: Role) -> Floats:
        """(n, d) unit vectors in the context (J, d) of a corpus, from whitened unit vectors (n, d)."""
        changed = np.empty_like(vectors)
        mean = context.mean(axis=0)
        for start in range(0, len(vectors), BATCH):
            part = vectors[start : start + BATCH]
            found = self.attend(part, context, role)
            attended = found.gates[:, :1] * (found.weights @ context) + found.gates[:, 1:] * mean
            changed[start : start + BATCH] = part + attended
        return to_unit(changed)


def _features(cosines: Floats, weights: Floats) -> Floats:
    """(n, 4): the highest cosine, the mean of the highest, the attention that the sink leaves, the mean cosine."""
    seen = np.maximum(cosines, -1)
    count = min(NEAREST, seen.shape[1])
    nearest = np.partition(seen, seen.shape[1] - count, axis=1)[:, -count:]
    parts = [nearest.max(axis=1), nearest.mean(axis=1), weights.sum(axis=1), MEAN_SCALE * seen.mean(axis=1)]
    return np.stack(parts, axis=1).astype(np.float32)


def _gelu(x: NDArray[np.float32]) -> Floats:
    """The tanh approximation of GELU (Hendrycks and Gimpel 2016)."""
    activated: Floats = 0.5 * x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x**3)))
    return activated

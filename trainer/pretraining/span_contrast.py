"""The contrast of spans: each finds the other span of its document among all spans of the batch.

Gao & Callan, 2022 (coCondenser), equation 6: -log of exp(<h, h'>) over the sum of exp(<h, k>) for all spans k but h.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Contrast(NamedTuple):
    """The mean loss () over spans, and the share () of spans whose other span has the highest score."""

    loss: Tensor
    accuracy: Tensor


def contrast_spans(vectors: Tensor, kind: Literal["product", "cosine"], temperature: float) -> Contrast:
    """The contrast of vectors (2n, d), of which 2i and 2i + 1 are spans of one document.

    Scores are products of the vectors as they are, or cosines, divided by the temperature.
    """
    vectors = vectors.float()
    if kind == "cosine":
        vectors = functional.normalize(vectors, dim=-1)
    n = len(vectors)
    scores = (vectors @ vectors.T) / temperature
    scores = scores.masked_fill(torch.eye(n, dtype=torch.bool, device=scores.device), -torch.inf)
    other = torch.arange(n, device=scores.device) ^ 1
    return Contrast(functional.cross_entropy(scores, other), (scores.argmax(1) == other).float().mean())

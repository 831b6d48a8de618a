"""A chunk's second context: the document it stands in, at no cost per token."""

import numpy as np

from cdesearch.context.vectors import Floats


def add_document_context(own: Floats, weight: float) -> Floats:
    """(n, d) vectors of all of one document's chunks in its context, from their own unit vectors (n, d).

    To each the direction of their mean is added, `weight` times as long. Not of length 1: so the own vectors can be
    had back, and an update embeds only what changed. A document of one chunk keeps its direction.
    """
    placed: Floats = own + weight * _direction(own)
    return placed


def subtract_document_context(placed: Floats, weight: float) -> Floats:
    """(n, d) own vectors of all of a document's chunks: the inverse of `add_document_context`."""
    # The mean of what was placed points where the mean of the own vectors does.
    own: Floats = placed - weight * _direction(placed)
    return own


def _direction(vectors: Floats) -> Floats:
    """(d,) of length 1; zero where the vectors cancel out."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    direction: Floats = (mean / length if length > 1e-6 else np.zeros_like(mean)).astype(np.float32)
    return direction

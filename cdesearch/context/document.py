"""Document context: shift the vectors of a document's chunks towards their mean, without running the model."""

import numpy as np

from cdesearch.context.vectors import Floats


def add_document_context(own: Floats, weight: float) -> Floats:
    """(n, d) vectors of all chunks of one document, in its context, from their own unit vectors (n, d).

    The document offset, which is added to each, has the direction of their mean and the length `weight`. The results
    are not normalised, so that the offset can be subtracted again and an update embeds only what has changed. The
    vector of a document with one chunk keeps its direction.
    """
    shifted: Floats = own + weight * _mean_direction(own)
    return shifted


def subtract_document_context(shifted: Floats, weight: float) -> Floats:
    """(n, d) own vectors of all chunks of a document: the inverse of `add_document_context`."""
    # The mean of the shifted vectors has the same direction as the mean of the own vectors.
    own: Floats = shifted - weight * _mean_direction(shifted)
    return own


def _mean_direction(vectors: Floats) -> Floats:
    """(d,) the mean vector scaled to length 1; zero if the vectors cancel out."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    direction: Floats = (mean / length if length > 1e-6 else np.zeros_like(mean)).astype(np.float32)
    return direction

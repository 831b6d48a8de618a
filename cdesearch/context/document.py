"""Document context: shift the vectors of a document's chunks towards their mean, without running the model."""

import numpy as np

from cdesearch.context.vectors import Floats, to_unit


def add_document_context(own: Floats, weight: float) -> Floats:
    """(n, d) unit vectors of all chunks of one document, in its context, from their own unit vectors (n, d).

    The document offset, which is added to each, has the direction of their mean and the length `weight`. The vector of
    a document with one chunk stays as it is.
    """
    mean = own.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    if length > 1e-6:  # otherwise the vectors cancel out
        own = own + weight * (mean / length).astype(np.float32)
    return to_unit(own)

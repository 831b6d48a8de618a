"""The array type of vectors, and their normalisation."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def to_unit(vectors: Floats) -> Floats:
    """(n, d) vectors scaled to length 1; zero vectors stay zero, and one with an infinite component becomes NaN."""
    with np.errstate(over="ignore", invalid="ignore"):  # a damaged index has any numbers
        unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit

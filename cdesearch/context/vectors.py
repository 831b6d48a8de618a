"""Rows of float32 numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def to_unit(vectors: Floats) -> Floats:
    """(n, d) of length 1."""
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit

"""The array type of vectors, and their normalisation."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def to_unit(vectors: Floats) -> Floats:
    """(n, d) vectors scaled to length 1; zero vectors stay zero, and one with an infinite component becomes NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Floats = vectors / np.maximum(lengths, 1e-12)
        too_long = np.isinf(lengths[:, 0])  # the squares of components above 1e19 exceed the range of float32
        if too_long.any():
            scaled = vectors[too_long] / np.abs(vectors[too_long]).max(axis=1, keepdims=True)
            unit[too_long] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit

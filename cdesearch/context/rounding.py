"""Round vectors to whole numbers with one scale each, or to the signs of their components."""

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats

MOST = 127  # the largest code, so that codes are symmetric


def to_codes(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Round (n, d) vectors to codes (n, d) and scales (n,), whose product is the vector to half a scale."""
    scales = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32) / np.float32(MOST)
    divisors = np.where(scales > 0, scales, 1)[:, None]
    codes = np.where(scales[:, None] > 0, np.clip(np.rint(vectors / divisors), -MOST, MOST), 0)
    return codes.astype(np.int8), scales


def from_codes(codes: NDArray[np.int8], scales: Floats) -> Floats:
    """Return the vectors (n, d) of codes (n, d) and scales (n,)."""
    vectors: Floats = codes.astype(np.float32) * scales[:, None]
    return vectors


def to_bits(vectors: Floats) -> NDArray[np.uint8]:
    """Return (n, ceil(d / 8)) bytes with one bit for each component of (n, d) vectors, which is set if it is positive.

    The bits that fill the last byte are zeros.
    """
    return np.packbits(vectors > 0, axis=1)


def from_bits(bits: NDArray[np.uint8], dimension: int) -> Floats:
    """Return (n, d) vectors of length 1 whose components all have the same size, and the sign that the bits name."""
    signs = np.unpackbits(bits, axis=1, count=dimension).astype(np.float32) * 2 - 1
    vectors: Floats = signs / np.float32(np.sqrt(dimension))
    return vectors

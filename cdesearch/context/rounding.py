"""Round vectors to whole numbers with one scale each, or to the signs of their components."""

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats

MOST = 127  # the largest code, so that codes are symmetric

_TOLERANCE = 1e-5  # of the largest component; different fractions of whole numbers up to MOST are 6e-5 apart
_LOOKED_AT = 32  # components that rule out nearly every vector that is not made of whole numbers


def to_codes(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Round (n, d) vectors to codes (n, d) and scales (n,), whose product is the vector to half a scale.

    A vector of whole numbers from -127 to 127, as some models make them, keeps these numbers, whatever its length.
    """
    scales = (np.abs(vectors).max(axis=1, initial=0.0) / _largest_codes(vectors)).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)[:, None]
    codes = np.where(scales[:, None] > 0, np.clip(np.rint(vectors / divisors), -MOST, MOST), 0)
    return codes.astype(np.int8), scales


def _largest_codes(vectors: Floats) -> NDArray[np.float64]:
    """The largest code (n,) of each vector (n, d): that with which it consists of whole numbers, else MOST."""
    largest = np.full(len(vectors), float(MOST))
    shares = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-30).astype(np.float64)
    waiting = np.flatnonzero(~_are_multiples(shares, MOST))
    start = shares[:, :_LOOKED_AT]
    for code in range(1, MOST):
        rows = waiting[_are_multiples(start[waiting], code)]
        found = rows[_are_multiples(shares[rows], code)]
        if len(found):
            largest[found] = code
            waiting = np.setdiff1d(waiting, found, assume_unique=True)
    return largest


def _are_multiples(shares: NDArray[np.float64], code: int) -> NDArray[np.bool_]:
    """(n,) whether all numbers of a row (n, d) are multiples of 1 / `code`, up to a tolerance."""
    is_multiple: NDArray[np.bool_] = np.abs(shares - np.rint(shares * code) / code) < _TOLERANCE
    return np.asarray(is_multiple.all(axis=1))


def from_codes(codes: NDArray[np.int8], scales: Floats) -> Floats:
    """The vectors (n, d) of codes (n, d) and scales (n,)."""
    vectors: Floats = codes.astype(np.float32) * scales[:, None]
    return vectors


def to_bits(vectors: Floats) -> NDArray[np.uint8]:
    """(n, ceil(d / 8)) bytes with one bit for each component of (n, d) vectors, which is set if it is positive.

    The bits that fill the last byte are zeros.
    """
    return np.packbits(vectors > 0, axis=1)


def from_bits(bits: NDArray[np.uint8], dimension: int) -> Floats:
    """(n, d) vectors of length 1 whose components all have the same size, and the sign that the bits name."""
    signs = np.unpackbits(bits, axis=1, count=dimension).astype(np.float32) * 2 - 1
    vectors: Floats = signs / np.float32(np.sqrt(dimension))
    return vectors

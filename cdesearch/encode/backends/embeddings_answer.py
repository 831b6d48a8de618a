"""Read and check the answer of an OpenAI-compatible embeddings API."""

import base64
import json
from typing import Any

import numpy as np

from cdesearch.context.vectors import Floats, to_unit

MAX_DIMENSION = 65_536


class InvalidAnswerError(Exception):
    """The answer is not what was asked for; the message continues a sentence about the server."""


def read_vectors(answer: bytes, count: int, dimension: int | None) -> Floats:
    """The unit vectors (count, d) of an answer, in the order of the texts; `dimension` is d if it is known.

    Raises InvalidAnswerError unless there is one finite vector for each text, all of them with d numbers.
    """
    try:
        rows = json.loads(answer)["data"]
        found = [(row.get("index", number), _numbers(row["embedding"])) for number, row in enumerate(rows)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidAnswerError("sent an answer without embeddings") from None
    if len(found) != count:
        raise InvalidAnswerError(f"returned {len(found):,} vectors for {count:,} texts")
    by_index = {index: vector for index, vector in found if type(index) is int}
    if by_index.keys() != set(range(count)):
        raise InvalidAnswerError("returned vectors whose numbers (index) are not those of the texts")
    lengths = {len(vector) for vector in by_index.values()} | ({dimension} if dimension else set())
    if len(lengths) > 1 or not 0 < max(lengths) <= MAX_DIMENSION:
        listed = ", ".join(f"{length:,}" for length in sorted(lengths))
        raise InvalidAnswerError(f"returned vectors of impossible or different lengths ({listed})")
    vectors = np.stack([by_index[index] for index in range(count)])
    if not np.isfinite(vectors).all():
        raise InvalidAnswerError("returned vectors that are not finite numbers")
    if not vectors.any(axis=1).all():
        raise InvalidAnswerError("returned a vector of zeros, which has no direction")
    return to_unit(vectors)


def _numbers(embedding: Any) -> Floats:
    """One vector (d,): base64 of float32 numbers, or a list of numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
    with np.errstate(over="ignore"):  # a number that is too large becomes infinite, which is refused
        vector = np.array(embedding, np.float64).astype(np.float32)
    if vector.ndim != 1:
        raise ValueError("a list of vectors")
    return vector

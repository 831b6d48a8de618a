"""Read and check the answer of an OpenAI-compatible embeddings API."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.terminal import counted

MAX_DIMENSION = 65_536
SHOWN = 40  # characters of what came instead
SHOWN_KEYS = 5


class InvalidAnswerError(Exception):
    """The answer is not what was asked for; the message continues a sentence about the server."""


def read_vectors(answer: bytes, count: int, dimension: int | None, reason: Callable[[Any], str]) -> Floats:
    """The unit vectors (count, d) of an answer, in the order of the texts; `dimension` is d if it is known.

    `reason` finds the message in an answer that reports an error. Raises InvalidAnswerError unless there is one finite
    vector for each text, all of them with d numbers.
    """
    rows = _rows(answer, reason)
    if len(rows) != count:
        raise InvalidAnswerError(f"returned {counted(len(rows), 'embedding')} for {counted(count, 'text')}")
    numbered = [(row.get("index", number), row["embedding"]) for number, row in enumerate(rows)]
    by_index = {index: embedding for index, embedding in numbered if type(index) is int}
    if by_index.keys() != set(range(count)):
        raise InvalidAnswerError(
            f"returned embeddings whose numbers (index) are not those of the texts, 0 to {count - 1}"
        )
    vectors = [_numbers(by_index[index], f"embedding {index + 1} of {count}") for index in range(count)]
    _check_lengths([len(vector) for vector in vectors], dimension)
    stacked = np.stack(vectors)
    for number in np.flatnonzero(~np.isfinite(stacked).all(axis=1)):
        raise InvalidAnswerError(
            f"returned numbers that are not finite (NaN or infinity) in embedding {number + 1} of {count}"
        )
    for number in np.flatnonzero(~stacked.any(axis=1)):
        raise InvalidAnswerError(f"returned only zeros, which have no direction, as embedding {number + 1} of {count}")
    # The squares of very small numbers would be zero.
    return to_unit(stacked / np.abs(stacked).max(axis=1, keepdims=True))


def _rows(answer: bytes, reason: Callable[[Any], str]) -> list[dict[str, Any]]:
    """The objects in the list "data" of an answer, each of which has an embedding."""
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError):
        start = " ".join(answer[: 4 * SHOWN].decode("utf-8", "replace").split())[:SHOWN]
        raise InvalidAnswerError(f"sent no JSON with embeddings, but {start!r}" if start else "sent nothing") from None
    if isinstance(parsed, dict) and parsed.get("error") and "data" not in parsed:
        raise InvalidAnswerError(f"sent an error instead of embeddings: {reason(parsed)}")
    data = parsed.get("data") if isinstance(parsed, dict) else None
    if not isinstance(data, list):
        raise InvalidAnswerError(f'sent {_described(parsed)} instead of an object with embeddings in the list "data"')
    for row in data:
        if not isinstance(row, dict) or "embedding" not in row:
            raise InvalidAnswerError(f'sent {_described(row)} in "data" instead of an object with an "embedding"')
    return data


def _numbers(embedding: Any, which: str) -> Floats:
    """One vector (d,): base64 of float32 numbers, or a list of numbers."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
        except ValueError:
            raise InvalidAnswerError(f"returned a text that is not base64 of 32-bit numbers as {which}") from None
    if not isinstance(embedding, list):
        raise InvalidAnswerError(f"returned {_described(embedding)} instead of a list of numbers as {which}")
    if not set(map(type, embedding)) <= {int, float}:
        odd = next(value for value in embedding if type(value) not in (int, float))
        raise InvalidAnswerError(f"returned a list with {_described(odd)} instead of numbers as {which}")
    try:
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, which is refused
            return np.array(embedding, np.float64).astype(np.float32)
    except OverflowError:
        return np.full(len(embedding), np.inf, np.float32)


def _check_lengths(lengths: Sequence[int], dimension: int | None) -> None:
    found = sorted(set(lengths))
    if len(found) > 1:
        listed = f"{', '.join(f'{length:,}' for length in found[:-1])} and {found[-1]:,}"
        raise InvalidAnswerError(f"returned embeddings of different lengths: {listed} numbers")
    if not 0 < found[0] <= MAX_DIMENSION:
        raise InvalidAnswerError(f"returned embeddings of {found[0]:,} numbers, not of 1 to {MAX_DIMENSION:,}")
    if dimension not in (None, found[0]):
        raise InvalidAnswerError(f"returned embeddings of {found[0]:,} numbers, and before of {dimension:,}")


def _described(value: Any) -> str:
    """What kind of JSON value came, for a message."""
    if isinstance(value, dict):
        names = ", ".join(list(map(str, value))[:SHOWN_KEYS])
        return f"an object with the keys {names:.{SHOWN}}" if names else "an empty object"
    if isinstance(value, list):
        inner = {type(item) for item in value}
        return "a list of lists" if inner == {list} else "a list"
    return {str: "a text", bool: "true or false", int: "a number", float: "a number"}.get(type(value), "null")

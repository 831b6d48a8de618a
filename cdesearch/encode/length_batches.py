"""Token ids to batches of like shape: long texts in spans, shortest texts first."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Ids = Sequence[int]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a batch may be."""

    max_tokens: int  # of a text, special tokens included; the rest is cut off
    span_tokens: int | None  # that see one another; None: all of a text's
    tokens_per_batch: int
    pads: bool  # whether texts of different lengths may stand together
    prefix_rows: int = 0  # how many a runtime puts before each span


@dataclass(frozen=True, slots=True)
class TextBatch:
    """B texts of S spans of at most T tokens."""

    places: Integers  # (B,) of the texts as they came
    ids: Integers  # (B, S, T)
    mask: Integers  # (B, S, T) 0/1


def make_batches(texts: Sequence[Ids], n_opening: int, limits: Limits) -> list[TextBatch]:
    """Every text in one batch; the first `n_opening` ids and the last one belong to the model, not to the text."""
    spans = [spans_of(_cut(ids, limits.max_tokens), n_opening, limits.span_tokens) for ids in texts]
    order = deque(sorted(range(len(spans)), key=lambda place: (len(spans[place]), len(spans[place][0]))))
    batches = []
    while order:
        places = [order.popleft()]
        while order and _fits(spans[places[-1]], spans[order[0]], len(places) + 1, limits):
            places.append(order.popleft())
        batches.append(_padded(places, [spans[place] for place in places]))
    return batches


def spans_of(ids: Ids, n_opening: int, limit: int | None) -> list[Ids]:
    """A text's ids in as few pieces of at most `limit` as there can be, each with the model's own ids around it.

    All are of one length, so that a batch needs no padding: where the text cannot be divided they overlap by a token.
    """
    if limit is None or len(ids) <= limit:
        return [ids]
    opening, text, closing = ids[:n_opening], ids[n_opening:-1], ids[-1:]
    count = -(-len(text) // (limit - n_opening - 1))
    length = -(-len(text) // count)
    starts = [(len(text) - length) * number // (count - 1) for number in range(count)]
    return [[*opening, *text[start : start + length], *closing] for start in starts]


def _cut(ids: Ids, limit: int) -> Ids:
    """At most `limit` ids; the closing special token stays."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def _fits(last: list[Ids], following: list[Ids], n_texts: int, limits: Limits) -> bool:
    n_spans, length = len(following), len(following[0])
    if n_spans != len(last) or (length > len(last[0]) and not limits.pads):
        return False
    return n_texts * n_spans * (limits.prefix_rows + length) <= limits.tokens_per_batch


def _padded(places: list[int], texts: list[list[Ids]]) -> TextBatch:
    ids = np.zeros((len(texts), len(texts[-1]), len(texts[-1][0])), np.int64)  # the last is the longest
    mask = np.zeros_like(ids)
    for row, spans in enumerate(texts):
        ids[row, :, : len(spans[0])] = spans
        mask[row, :, : len(spans[0])] = 1
    return TextBatch(np.array(places, np.int64), ids, mask)

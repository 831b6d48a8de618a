"""The tokens of texts as a model reads them, in batches of similar length, and the chunks of a document in windows.

Long texts are split into spans, and the shortest texts come first. In a window every chunk reads the others (late
chunking). Several batches can run at the same time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.context.head import Role
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import Floats
from cdesearch.errors import ModelError, is_panic
from cdesearch.models.checkpoint_files import AGAIN
from cdesearch.models.config import MIN_TEXT_TOKENS, ModelConfig

Integers = NDArray[np.int64]
Ids = Sequence[int]
Input = TypeVar("Input")
Output = TypeVar("Output")
WINDOW_TOKENS = 4096  # of a window, separators included; the context model was trained with so many


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The limits of texts, spans and batches, in tokens."""

    max_tokens: int  # of a text, special tokens included; the rest is truncated
    span_tokens: int | None  # of a span; tokens attend only within their span. None: a text is one span
    tokens_per_batch: int
    pads: bool  # whether a batch may contain texts of different lengths
    prefix_rows: int = 0  # rows that a runtime puts before each span
    n_closing: int = 1  # special tokens at the end of a text, which are not truncated


@dataclass(frozen=True, slots=True)
class TextBatch:
    """B texts of S spans of at most T tokens."""

    indices: Integers  # (B,) of the texts in the caller's order
    ids: Integers  # (B, S, T)
    mask: Integers  # (B, S, T) 0/1


def make_batches(texts: Sequence[Ids], n_opening: int, limits: BatchLimits) -> list[TextBatch]:
    """Batches that together contain every text once.

    The first `n_opening` ids of each text are its special tokens and prefix. A text that is split into spans ends with
    one special token.
    """
    spans = [
        split_spans(truncated(ids, limits.max_tokens, limits.n_closing), n_opening, limits.span_tokens) for ids in texts
    ]
    order = deque(sorted(range(len(spans)), key=lambda index: (len(spans[index]), len(spans[index][0]))))
    batches = []
    while order:
        indices = [order.popleft()]
        while order and _fits(spans[indices[-1]], spans[order[0]], len(indices) + 1, limits):
            indices.append(order.popleft())
        batches.append(_padded(indices, [spans[index] for index in indices]))
    return batches


def split_spans(ids: Ids, n_opening: int, limit: int | None) -> list[Ids]:
    """The ids of a text in as few spans of at most `limit` ids as possible, each with the opening and closing ids.

    All spans have the same length, so that a batch needs no padding. If the text cannot be divided evenly, spans
    overlap by a token.
    """
    if limit is None or len(ids) <= limit:
        return [ids]
    opening, text, closing = ids[:n_opening], ids[n_opening:-1], ids[-1:]
    count = -(-len(text) // (limit - n_opening - 1))
    length = -(-len(text) // count)
    starts = [(len(text) - length) * number // (count - 1) for number in range(count)]
    return [[*opening, *text[start : start + length], *closing] for start in starts]


def truncated(ids: Ids, max_tokens: int, n_closing: int) -> Ids:
    """At most `max_tokens` ids; the `n_closing` special tokens at the end are kept."""
    if len(ids) <= max_tokens:
        return ids
    return [*ids[: max_tokens - n_closing], *ids[len(ids) - n_closing :]]


def _fits(last: list[Ids], following: list[Ids], n_texts: int, limits: BatchLimits) -> bool:
    n_spans, length = len(following), len(following[0])
    if n_spans != len(last) or (length > len(last[0]) and not limits.pads):
        return False
    return n_texts * n_spans * (limits.prefix_rows + length) <= limits.tokens_per_batch


def _padded(indices: list[int], texts: list[list[Ids]]) -> TextBatch:
    ids = np.zeros((len(texts), len(texts[-1]), len(texts[-1][0])), np.int64)  # the last is the longest
    mask = np.zeros_like(ids)
    for row, spans in enumerate(texts):
        ids[row, :, : len(spans[0])] = spans
        mask[row, :, : len(spans[0])] = 1
    return TextBatch(np.array(indices, np.int64), ids, mask)


def split_windows(lengths: Sequence[int], limit: int, n_between: int) -> list[range]:
    """Windows of consecutive chunks, in order, from their numbers of tokens.

    Each has as many chunks as fit into `limit` tokens with `n_between` separators between two chunks. A chunk that is
    longer than `limit` is a window of its own.
    """
    windows, start, total = [], 0, 0
    for position, length in enumerate(lengths):
        if position > start and total + n_between + length > limit:
            windows.append(range(start, position))
            start = position
        total = length if position == start else total + n_between + length
    return [*windows, range(start, len(lengths))] if lengths else []


def join_chunks(chunks: Sequence[Ids], separator: int | None) -> tuple[Integers, Floats]:
    """The ids (T,) of all chunks (C) and separators in one sequence, and (C, T) 1 where a token belongs to a chunk."""
    between = [] if separator is None else [separator]
    ids = [*chunks[0], *(number for chunk in chunks[1:] for number in (*between, *chunk))]
    belongs = np.zeros((len(chunks), len(ids)), np.float32)
    start = 0
    for row, chunk in enumerate(chunks):
        belongs[row, start : start + len(chunk)] = 1
        start += len(chunk) + len(between)
    return np.array(ids, np.int64), belongs


def run_parallel(function: Callable[[Input], Output], inputs: Sequence[Input], workers: int) -> Iterator[Output]:
    """The function of every input, in order; `workers` threads compute them in parallel."""
    if workers == 1 or len(inputs) == 1:
        yield from map(function, inputs)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, inputs)
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def reporting_failure(cause: str) -> Iterator[None]:
    """Replace any error of the tokenizers library, which raises bare Exception and panics, by a ModelError."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise ModelError(f"{cause} ({error!s:.200}).", AGAIN) from None


class ModelTokens:
    """The tokenizer of a model; raises ModelError if a prefix leaves no room for a text."""

    def __init__(self, tokenizer: Tokenizer, config: ModelConfig) -> None:
        self.tokenizer = tokenizer
        self._config = config
        self._vocabulary = config.backbone.vocabulary
        limit = min(config.max_tokens, config.span_tokens or config.max_tokens)
        if max(map(self.count, (config.document_prefix, config.query_prefix))) + MIN_TEXT_TOKENS > limit:
            raise ModelError(f"The model's prefixes leave no room for texts in {limit} tokens.", AGAIN)

    def prefix(self, role: Role) -> str:
        return self._config.query_prefix if role == "query" else self._config.document_prefix

    def count(self, prefix: str) -> int:
        """The number of tokens of a prefix, without special tokens."""
        return len(self.tokenizer.encode(prefix, add_special_tokens=False).ids)

    @cached_property
    def special(self) -> tuple[int, int]:
        """How many special tokens the tokenizer puts before and after a text."""
        whole, bare = (self.tokenizer.encode("a", add_special_tokens=added).ids for added in (True, False))
        opening = next((n for n in range(len(whole)) if whole[n : n + len(bare)] == bare), 0)
        return opening, len(whole) - len(bare) - opening

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of every text; raises ModelError for an id outside the model's vocabulary."""
        with reporting_failure("The model's tokenizer fails"):
            found = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        highest = max((max(ids, default=0) for ids in found), default=0)
        if highest >= self._vocabulary:
            raise ModelError(
                f"The model's tokenizer belongs to another model: it makes token {highest}, and the model has only"
                f" {self._vocabulary} tokens.",
                AGAIN,
            )
        return found

    def chunk_ids(self, chunks: Sequence[str]) -> list[Ids]:
        """Token ids of chunks of documents, with the prefix, truncated as the model does."""
        found = self.ids([self._config.document_prefix + chunk for chunk in chunks])
        return [truncated(ids, self._config.max_tokens, self.special[1]) for ids in found]

    def batches(
        self, ids: Sequence[Ids], prefix: str, tokens_per_batch: int, pads: bool, prefix_rows: int
    ) -> list[TextBatch]:
        """Batches within these limits, see `BatchLimits`, of texts that begin with `prefix`."""
        opening, closing = self.special
        own = self._config.max_tokens, self._config.span_tokens
        limits = BatchLimits(*own, tokens_per_batch, pads, prefix_rows, closing)
        return make_batches(ids, opening + self.count(prefix), limits)

    def frequencies(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""
        counts = np.zeros(self._vocabulary, np.int64)
        for ids in self.ids(texts):
            counts[np.unique(ids)] += 1
        return TokenFrequencies(counts, len(texts))

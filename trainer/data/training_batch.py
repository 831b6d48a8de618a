"""The data of one optimizer step: tokens of queries and documents, their context, and the false negatives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from cdesearch.encode.length_batches import split_windows, truncated
from trainer.data.pairs.reading import Pair
from trainer.data.store import Integers

UNKNOWN = -1e4  # a teacher's logit of a document that it has not scored: probability 0
TOKENIZED_AT_ONCE = 64  # texts; until it is truncated, an encoding holds a whole text at a hundred bytes per token


@dataclass(frozen=True, slots=True)
class Tokens:
    """Padded ids and 0/1 mask, both (n, T)."""

    ids: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices: Tensor) -> "Tokens":
        return Tokens(self.ids[indices], self.mask[indices])

    def micro_batches(self, size: int) -> list[tuple[Tensor, "Tokens"]]:
        """All texts, sorted by length and padded to the longest of their micro-batch, with their indices.

        The longest come first, so that each micro-batch fits into the memory that the one before it has freed.
        """
        lengths = self.mask.sum(1)
        order = torch.argsort(lengths, descending=True, stable=True)
        parts = [(indices, max(lengths[indices].tolist(), default=0)) for indices in order.split(size)]
        return [(rows, Tokens(self.ids[rows, :longest], self.mask[rows, :longest])) for rows, longest in parts]

    def to(self, device: torch.device) -> "Tokens":
        return Tokens(sent(self.ids, device), sent(self.mask, device))


@dataclass(frozen=True, slots=True)
class Windows:
    """W windows of chunks that are read together, with at most C chunks each."""

    tokens: Tokens  # (W, T)
    chunk_of: Tensor  # (W, T) the number, in its window, of the chunk to which each token belongs; -1 for padding
    at: Tensor  # (D,) the place of each document of the batch among the W * C places of all windows
    n_chunks: int  # C

    def micro_batch(self, n_texts: int) -> int:
        """How many windows have about as many chunks as a micro-batch of `n_texts` texts; at least one."""
        return max(1, n_texts * len(self.tokens) // len(self.at))

    def belongs(self, rows: Tensor, length: int, device: torch.device) -> Tensor:
        """(R, C, `length`) 1 where a token of the windows at `rows` (R,) belongs to a chunk; on `device`."""
        numbers = torch.arange(self.n_chunks, device=device)[:, None]
        return (sent(self.chunk_of, device)[rows, None, :length] == numbers).float()


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on `device` of a tensor in host memory; the host does not wait until a GPU has it."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


@dataclass(frozen=True, slots=True)
class Batch:
    """B queries and D >= B documents: the document of each query, then the hard negatives of all."""

    queries: Tokens
    documents: Tokens
    context: Tensor  # (S,) indices in `documents` of the sample that the whitening is fitted to
    is_null: Tensor  # (J,) true for slots of `context_texts` that hold the null vector
    excluded: Tensor  # (B, D) true for false negatives
    teacher: Tensor | None = None  # (B, D) logits
    owners: Tensor | None = None  # (D,) the row of the query to which each document or hard negative belongs
    siblings: Tensor | None = None  # (D,) equal for chunks of one long document
    token_counts: Tensor | None = None  # (D,) of chunks of long documents; 0 for a chunk that equals an earlier one
    windows: Windows | None = None  # of the documents, if the chunks of a document are read together
    context_tokens: Tokens | None = None  # J texts that are not in `documents`; None: the documents at `context`

    @property
    def is_contextual(self) -> bool:
        """Whether any slot of the context holds a document."""
        return not bool(self.is_null.all())

    @property
    def context_texts(self) -> Tokens:
        """The J texts that the second stage attends to."""
        return self.documents.take(self.context) if self.context_tokens is None else self.context_tokens

    def in_context(self, texts: Tokens, *, is_null: bool = False) -> "Batch":
        """The same batch with other texts in the slots of the context, or with the null vector in all of them."""
        return replace(self, context_tokens=texts, is_null=torch.full((len(texts),), is_null))


def documents_of(pairs: Sequence[Pair]) -> list[str]:
    """The documents of the pairs, then the hard negatives of all pairs."""
    return [pair.document for pair in pairs] + [text for pair in pairs for text in pair.negatives]


def owners_of(pairs: Sequence[Pair]) -> Tensor:
    """(D,) the index of the pair of each text in `documents_of`."""
    of_negatives = [index for index, pair in enumerate(pairs) for _ in pair.negatives]
    return torch.tensor([*range(len(pairs)), *of_negatives])


def teacher_of_pairs(pairs: Sequence[Pair], temperature: float) -> Tensor:
    """(B, D) logits from the scores of the pairs, over `temperature`; documents of other pairs have probability 0."""
    own = torch.arange(len(pairs))[:, None] == owners_of(pairs)
    scores = [pair.scores[0] for pair in pairs] + [score for pair in pairs for score in pair.scores[1:]]
    return torch.where(own, torch.tensor(scores) / temperature, UNKNOWN)


def siblings_of(pairs: Sequence[Pair]) -> Tensor:
    """(D,) the number of the long document of each text in `documents_of`; other texts have numbers of their own."""
    names = [pair.document_id or index for index, pair in enumerate(pairs)]
    names += [len(pairs) + index for index in range(sum(len(pair.negatives) for pair in pairs))]
    numbers: dict[str | int, int] = {}
    return torch.tensor([numbers.setdefault(name, len(numbers)) for name in names])


def tokenize(tokenizer: Tokenizer, texts: Sequence[str], prefix: str, limit: int) -> Tokens:
    """Ids and mask of prefixed texts, truncated to `limit` tokens."""
    return padded([np.asarray(row) for row in token_rows(tokenizer, texts, prefix, limit)])


def token_rows(tokenizer: Tokenizer, texts: Sequence[str], prefix: str, limit: int) -> Iterator[Sequence[int]]:
    """The ids of each prefixed text, truncated to `limit` tokens; the closing special token is kept."""
    for start in range(0, len(texts), TOKENIZED_AT_ONCE):
        some = [prefix + text for text in texts[start : start + TOKENIZED_AT_ONCE]]
        yield from (truncated(encoding.ids, limit, 1) for encoding in tokenizer.encode_batch_fast(some))


def padded(rows: Sequence[NDArray[Any]]) -> Tokens:
    """Ids and mask of texts whose ids are known."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate(rows)
    return Tokens(torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64)))


def first_copies(texts: Sequence[str], siblings: Tensor) -> Integers:
    """(D,) the number of the first text that equals each text and is of the same document; `siblings` (D,)."""
    first: dict[tuple[int, str], int] = {}
    keys = zip(siblings.tolist(), texts, strict=True)
    return np.array([first.setdefault(key, number) for number, key in enumerate(keys)], np.int64)


def make_windows(chunks: Tokens, siblings: Tensor, places: Sequence[int], copies: Integers, limit: int) -> Windows:
    """The windows of D chunks, with at most `limit` tokens each; a longer chunk is a window of its own.

    `siblings` (D,) are equal for chunks of one document, and `places` (D,) order them. A chunk that equals an earlier
    one, by `copies` (D,), is read once.
    """
    lengths = chunks.mask.sum(1).tolist()
    numbers = siblings.tolist()
    order = sorted(np.unique(copies).tolist(), key=lambda row: (numbers[row], places[row], row))
    windows: list[list[int]] = []
    for _, document in groupby(order, numbers.__getitem__):
        rows = list(document)
        divided = split_windows([lengths[row] for row in rows], limit, 0)
        windows += [[rows[place] for place in window] for window in divided]
    n_chunks = max(map(len, windows))
    at = np.zeros(len(lengths), np.int64)
    for number, window in enumerate(windows):
        at[window] = number * n_chunks + np.arange(len(window))
    ids = [np.concatenate([chunks.ids[row, : lengths[row]].numpy() for row in window]) for window in windows]
    chunk_of = [np.repeat(np.arange(len(window)), [lengths[row] for row in window]) for window in windows]
    tokens = padded(ids)
    belongs = torch.where(tokens.mask > 0, padded(chunk_of).ids, -1)
    return Windows(tokens, belongs, torch.from_numpy(at[copies]), n_chunks)

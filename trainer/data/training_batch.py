"""One optimizer step's data: tokens of queries and documents, their context, and what must not count as wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from trainer.data.pairs import Pair

TOKENIZED_AT_ONCE = 64  # encodings hold whole texts, a hundred bytes a token, before they are cut


@dataclass(frozen=True, slots=True)
class Tokens:
    """Padded ids and 0/1 mask, both (n, T)."""

    ids: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> "Tokens":
        """A slice, cut to its own longest text."""
        mask = self.mask[start:stop]
        longest = int(mask.sum(1).max()) if len(mask) else 0
        return Tokens(self.ids[start:stop, :longest], mask[:, :longest])

    def take(self, places: Tensor) -> "Tokens":
        """The texts at `places`."""
        return Tokens(self.ids[places], self.mask[places])

    def micro_batches(self, rows: slice, size: int) -> list[tuple[Tensor, "Tokens"]]:
        """The texts in `rows`, texts of like length together, with their places in `rows`.

        Longest first: the next fits into what one leaves free.
        """
        mine = self.rows(rows.start, rows.stop)
        order = torch.argsort(mine.mask.sum(1), descending=True, stable=True)
        return [(places, mine.take(places).rows(0, len(places))) for places in order.split(size)]

    def to(self, device: torch.device) -> "Tokens":
        """On another device."""
        return Tokens(self.ids.to(device), self.mask.to(device))


@dataclass(frozen=True, slots=True)
class Batch:
    """B queries and D >= B documents: own ones first, then hard negatives."""

    queries: Tokens
    documents: Tokens
    context: Tensor  # (J,) places in `documents`
    is_null: Tensor  # (J,) slots where the null vector stands
    excluded: Tensor  # (B, D) false negatives
    teacher: Tensor | None = None  # (B, D) logits
    siblings: Tensor | None = None  # (D,) equal where two are chunks of one long document

    @property
    def is_contextual(self) -> bool:
        """Whether any slot holds a document."""
        return not bool(self.is_null.all())


def documents_of(pairs: Sequence[Pair]) -> list[str]:
    """Own documents first, then the hard negatives of all."""
    return [pair.document for pair in pairs] + [text for pair in pairs for text in pair.negatives]


def siblings_of(pairs: Sequence[Pair]) -> Tensor:
    """(D,) numbers of the long documents that `documents_of` are chunks of; what is no chunk has its own."""
    names = [pair.document_id or place for place, pair in enumerate(pairs)]
    names += [len(pairs) + place for place in range(sum(len(pair.negatives) for pair in pairs))]
    numbers: dict[str | int, int] = {}
    return torch.tensor([numbers.setdefault(name, len(numbers)) for name in names])


def tokenize(tokenizer: Tokenizer, texts: Sequence[str], prefix: str, limit: int) -> Tokens:
    """Ids and mask of prefixed texts, cut to `limit` tokens; the closing special token stays."""
    rows = []
    for start in range(0, len(texts), TOKENIZED_AT_ONCE):
        some = [prefix + text for text in texts[start : start + TOKENIZED_AT_ONCE]]
        for encoding in tokenizer.encode_batch_fast(some):
            row = encoding.ids
            rows.append(row if len(row) <= limit else [*row[: limit - 1], row[-1]])
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
    return Tokens(ids, mask)


def choose_context(
    n_documents: int, size: int, slot_dropout: float, null_share: float, random: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Places of at most `size` documents and which of their slots are null, shared by the whole batch.

    A slot is null with probability `slot_dropout` (CDE section 4.2), and all are in a share of the batches: a model
    must also embed without context.
    """
    places = random.permutation(n_documents)[:size]
    is_null = random.random(len(places)) < slot_dropout
    if random.random() < null_share:
        is_null[:] = True
    return torch.from_numpy(np.sort(places)), torch.from_numpy(is_null)

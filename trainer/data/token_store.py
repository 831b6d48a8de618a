"""The tokens of the texts of a domain, stored before training and memory-mapped.

Tokenizing the texts of each batch would take four times as long as the rest of the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from trainer.data.training_batch import Tokens, padded, token_rows

Ids = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class TokenStore:
    """The ids of n texts, which are truncated and have their prefix."""

    ids: Ids  # of all stored texts, end to end
    starts: NDArray[np.int64]  # (n,)
    ends: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "TokenStore":
        """The texts at `rows`."""
        chosen = np.asarray(rows, np.int64)
        return TokenStore(self.ids, self.starts[chosen], self.ends[chosen])

    def rows(self) -> list[Ids]:
        """The ids of each text."""
        return [self.ids[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class DomainTokens:
    """The tokens of N pairs, and of all hard negatives of their domain."""

    queries: TokenStore
    documents: TokenStore
    negatives: TokenStore

    def take(self, rows: Sequence[int]) -> "DomainTokens":
        """The tokens of the pairs at `rows`."""
        return DomainTokens(self.queries.take(rows), self.documents.take(rows), self.negatives)

    def of_batch(self, rows: NDArray[np.int64], negatives: Sequence[int]) -> tuple[Tokens, Tokens]:
        """The queries of the pairs at `rows`, and their documents followed by the hard negatives at `negatives`."""
        documents = self.documents.take(rows).rows() + self.negatives.take(negatives).rows()
        return padded(self.queries.take(rows).rows()), padded(documents)


def store_tokens(file: Path, texts: Sequence[str], tokenizer: Tokenizer, prefix: str, limit: int) -> TokenStore:
    """The tokens of `texts` with `prefix`, at most `limit` of each.

    They are kept in two files, whose names begin with that of `file`, for the next run with the same texts, prefix,
    limit and tokenizer.
    """
    digest = blake2b(digest_size=8)
    for text in (tokenizer.to_str(), prefix, str(limit), *texts):
        encoded = text.encode("utf-8", "replace")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    ids, ends = (file.with_name(f"{file.name}-{digest.hexdigest()}.{part}.npy") for part in ("ids", "ends"))
    if not ends.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = list(token_rows(tokenizer, texts, prefix, limit))
        kind = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32
        _save(ids, np.concatenate([np.empty(0, kind), *(np.asarray(row, kind) for row in rows)]))
        _save(ends, np.cumsum([len(row) for row in rows], dtype=np.int64))  # last: without it, `ids` is written again
    found = np.load(ends)
    stored = np.load(ids, mmap_mode="r") if len(found) else np.empty(0, np.uint16)
    return TokenStore(stored, np.concatenate([np.zeros(min(1, len(found)), np.int64), found[:-1]]), found)


def _save(file: Path, array: NDArray[np.generic]) -> None:
    fresh = file.with_suffix(".new.npy")
    np.save(fresh, array)
    fresh.replace(file)

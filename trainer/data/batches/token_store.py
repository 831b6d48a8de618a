"""The tokens of the texts of a domain, stored before training and memory-mapped.

Tokenizing the texts of each batch would take four times as long as the rest of the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from trainer.data.stored import check_sums, damaged, digest_of, load_array, load_offsets, save_array, save_sums
from trainer.data.training_batch import Tokens, padded, token_rows
from trainer.replacing import make_folder

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

    They are kept in three files, whose names begin with that of `file`, for the next run with the same texts, prefix,
    limit and tokenizer. Raises StorageError if a file is damaged or cannot be written.
    """
    digest = digest_of((tokenizer.to_str(), prefix, str(limit), *texts))
    ids, ends = (file.with_name(f"{file.name}-{digest}.{part}.npy") for part in ("ids", "ends"))
    sums = file.with_name(f"{file.name}-{digest}.sums.json")
    make_folder(file.parent)
    if not (ends.exists() and ids.exists() and sums.exists()):
        rows = list(token_rows(tokenizer, texts, prefix, limit))
        kind = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32
        save_array(ids, np.concatenate([np.empty(0, kind), *(np.asarray(row, kind) for row in rows)]))
        save_array(ends, np.cumsum([len(row) for row in rows], dtype=np.int64))
        save_sums(sums, (ids, ends))  # written last: without it, the other files are written again
    check_sums(sums, (ids, ends))
    found = load_offsets(ends)
    stored = load_array(ids, mapped=True) if len(found) else np.empty(0, np.uint16)
    if len(found) != len(texts) or stored.dtype not in (np.uint16, np.uint32) or stored.shape != (found[-1:].sum(),):
        raise damaged(ids)
    return TokenStore(stored, np.concatenate([np.zeros(min(1, len(found)), np.int64), found[:-1]]), found)

"""The tokens of the texts of a domain, stored before training and memory-mapped.

Tokenizing the texts of each batch would take four times as long as the rest of the batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from trainer.data.stored import (
    BLOCK,
    check_sums,
    damaged,
    digest_of,
    kept_arrays,
    load_array,
    load_offsets,
    save_array,
    save_sums,
)
from trainer.data.training_batch import Tokens, padded, token_rows
from trainer.replacing import make_folder, remove

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


def store_tokens(
    file: Path,
    texts: Sequence[str],
    tokenizer: Tokenizer,
    prefix: str,
    limit: int,
    advance: Callable[[int], object],
) -> TokenStore:
    """The tokens of `texts` with `prefix`, at most `limit` of each.

    They are kept in three files, whose names begin with that of `file`, for the next run with the same texts, prefix,
    limit and tokenizer. `advance` is called after each block of texts; if it raises an exception, the next run goes on
    after this block. Raises StorageError if a file is damaged or cannot be written.
    """
    digest = digest_of((tokenizer.to_str(), prefix, str(limit), *texts))
    ids, ends = (file.with_name(f"{file.name}-{digest}.{part}.npy") for part in ("ids", "ends"))
    sums = file.with_name(f"{file.name}-{digest}.sums.json")
    parts = file.with_name(f"{file.name}-{digest}.parts")
    make_folder(file.parent)
    if ends.exists() and ids.exists() and sums.exists():
        advance(len(texts))
    else:
        kind = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32
        blocks = [{"ids": np.empty(0, kind), "lengths": np.empty(0, np.int64)}]
        for start in range(0, len(texts), BLOCK):
            some = texts[start : start + BLOCK]
            part = parts / f"{start}.npz"
            make = partial(_tokenized, some, tokenizer, prefix, limit, kind)
            blocks.append(kept_arrays(part, ("ids", "lengths"), make))
            if len(blocks[-1]["lengths"]) != len(some):
                raise damaged(part)
            advance(len(some))
        save_array(ids, np.concatenate([block["ids"] for block in blocks]))
        save_array(ends, np.cumsum(np.concatenate([block["lengths"] for block in blocks])))
        save_sums(sums, (ids, ends))  # written last: without it, the other files are written again
    remove(parts)
    check_sums(sums, (ids, ends))
    found = load_offsets(ends)
    stored = load_array(ids, mapped=True) if len(found) else np.empty(0, np.uint16)
    if len(found) != len(texts) or stored.dtype not in (np.uint16, np.uint32) or stored.shape != (found[-1:].sum(),):
        raise damaged(ids)
    return TokenStore(stored, np.concatenate([np.zeros(min(1, len(found)), np.int64), found[:-1]]), found)


def _tokenized(
    texts: Sequence[str], tokenizer: Tokenizer, prefix: str, limit: int, kind: type[np.uint16] | type[np.uint32]
) -> dict[str, NDArray[Any]]:
    """The ids of all texts end to end, and the number of ids of each."""
    rows = [np.asarray(row, kind) for row in token_rows(tokenizer, texts, prefix, limit)]
    return {"ids": np.concatenate(rows), "lengths": np.array([len(row) for row in rows], np.int64)}

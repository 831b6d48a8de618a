"""The texts of a run as tokens: documents, each of which has one passage or more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.errors import InputError, SourceError
from trainer.data.pairs.domains import file_digest
from trainer.data.pairs.reading import read_passages
from trainer.data.store import Arrays, Integers, Rows, digest_of, random_stream, stored

AT_ONCE = 512  # documents that are tokenised together
SHORTEST = 16  # tokens of a document; there is nothing to learn from a shorter one


@dataclass(frozen=True, slots=True)
class TokenDocuments:
    """D documents, whose passages are end to end, without special tokens."""

    passages: Rows
    documents: Rows  # the numbers of the passages of each document
    digest: str

    def __len__(self) -> int:
        return len(self.documents)

    def passages_of(self, document: int) -> list[NDArray[np.int64]]:
        return [ids.astype(np.int64) for ids in self.passages.at(self.documents.at([document])[0])]

    def divided(self, held_out: float, seed: int) -> tuple[Integers, Integers]:
        """The documents to train on and those that are held out, in random order; raises InputError if none is left."""
        order = random_stream(seed, "held-out texts").permutation(len(self))
        n_held = round(held_out * len(self))
        if n_held == len(self):
            raise InputError(f"texts.held_out is {held_out:g}, which leaves no document to train on.", "Lower it.")
        return order[n_held:], order[:n_held]


def read_token_documents(
    files: Sequence[Path], cap: int | None, tokenizer: Tokenizer, folder: Path, advance: Callable[[int], object]
) -> TokenDocuments:
    """The documents of pair files, the first `cap` of each, without repetitions; raises SourceError, StorageError.

    They are tokenised once and stored in `folder`. `advance` is called with the number of documents that were read.
    """
    digest = digest_of(f"{cap} {SHORTEST}", tokenizer.to_str(), map(file_digest, files))
    found = stored(folder / f"texts-{digest}", lambda: _tokenised(files, cap, tokenizer, advance))
    n_passages = found["counts"]
    if not len(n_passages):
        raise SourceError(
            f"The texts have no document of {SHORTEST} tokens or more.", "Name files with longer documents."
        )
    documents = Rows.of(np.arange(n_passages.sum()), n_passages)
    return TokenDocuments(Rows.of(found["ids"], found["lengths"]), documents, digest)


def _tokenised(
    files: Sequence[Path], cap: int | None, tokenizer: Tokenizer, advance: Callable[[int], object]
) -> Arrays:
    rows: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    counts: list[int] = []  # of the passages of documents
    documents = _documents(files, cap)
    while some := list(islice(documents, AT_ONCE)):
        encoded = iter(tokenizer.encode_batch_fast(list(chain.from_iterable(some)), add_special_tokens=False))
        for document in some:
            ids = [np.array(one.ids, np.int32) for one in islice(encoded, len(document)) if one.ids]
            if sum(map(len, ids)) >= SHORTEST:
                rows += ids
                counts.append(len(ids))
        advance(len(some))
    lengths = np.array([len(row) for row in rows[1:]], np.int64)
    return {"ids": np.concatenate(rows), "lengths": lengths, "counts": np.array(counts, np.int64)}


def _documents(files: Sequence[Path], cap: int | None) -> Iterator[list[str]]:
    """Every document once, in the order of the files."""
    seen: set[bytes] = set()
    for file in files:
        for passages in islice(read_passages(file), cap):
            digest = blake2b("\0".join(passages).encode("utf-8", "replace"), digest_size=16).digest()
            if passages and digest not in seen:
                seen.add(digest)
                yield passages

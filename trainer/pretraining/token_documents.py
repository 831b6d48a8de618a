"""The texts of a run as tokens: documents, each of which has one passage or more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.errors import InputError, SourceError
from cdesearch.terminal import counted
from trainer.data.pairs.reading import parts_of, read_passages
from trainer.data.random_stream import random_stream
from trainer.data.stored import kept_arrays

AT_ONCE = 512  # documents that are tokenised together
SHORTEST = 16  # tokens of a document; there is nothing to learn from a shorter one

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenDocuments:
    """D documents with P passages in all, end to end, without special tokens."""

    ids: NDArray[np.int32]
    passages: Rows  # (P + 1,) the first token of each passage
    documents: Rows  # (D + 1,) the first passage of each document

    def __len__(self) -> int:
        return len(self.documents) - 1

    def passages_of(self, document: int) -> list[NDArray[np.int32]]:
        """The ids of each passage of a document."""
        rows = range(self.documents[document], self.documents[document + 1])
        return [self.ids[self.passages[row] : self.passages[row + 1]] for row in rows]

    def text_of(self, document: int) -> NDArray[np.int32]:
        """The ids of a whole document."""
        first, end = self.documents[document], self.documents[document + 1]
        return self.ids[self.passages[first] : self.passages[end]]

    def divided(self, held_out: float, seed: int) -> tuple[Rows, Rows]:
        """The documents to train on and those that are held out, in random order; raises InputError if none is left."""
        order = random_stream(seed, "held-out texts").permutation(len(self))
        n_held = round(held_out * len(self))
        if n_held == len(self):
            raise InputError(
                f"texts.held_out is {held_out:g}, which leaves none of {counted(len(self), 'document')} to train on.",
                "Lower texts.held_out.",
            )
        return order[n_held:], order[:n_held]

    @property
    def digest(self) -> str:
        """A digest of all tokens and of where passages and documents end."""
        digest = blake2b(self.ids.tobytes(), digest_size=16)
        digest.update(self.passages.tobytes())
        digest.update(self.documents.tobytes())
        return digest.hexdigest()


def read_token_documents(
    files: Sequence[Path], cap: int | None, tokenizer: Tokenizer, folder: Path, advance: Callable[[int], object]
) -> TokenDocuments:
    """The documents of pair files, the first `cap` of each, without repetitions; raises SourceError, StorageError.

    They are tokenised once and stored in `folder`. `advance` is called with the number of documents that were read.
    """
    target = folder / f"tokens-{_name(files, cap, tokenizer)}.npz"
    arrays = kept_arrays(target, ("ids", "passages", "documents"), lambda: _tokenised(files, cap, tokenizer, advance))
    made = TokenDocuments(**arrays)
    if not len(made):
        raise SourceError(
            f"The texts have no document of {SHORTEST} tokens or more.", "Name files with longer documents."
        )
    return made


def _name(files: Sequence[Path], cap: int | None, tokenizer: Tokenizer) -> str:
    digest = blake2b(f"{cap} {SHORTEST}".encode() + tokenizer.to_str().encode(), digest_size=8)
    for part in (part for file in files for part in parts_of(file)):
        with part.open("rb") as stream:
            digest.update(file_digest(stream, "blake2b").digest())
    return digest.hexdigest()


def _tokenised(
    files: Sequence[Path], cap: int | None, tokenizer: Tokenizer, advance: Callable[[int], object]
) -> dict[str, NDArray[np.generic]]:
    rows: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    lengths: list[int] = []  # of passages
    counts: list[int] = []  # of the passages of documents
    for some in _batches(_documents(files, cap)):
        texts = [passage for document in some for passage in document]
        found = iter(tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        for document in some:
            ids = [np.array(encoding.ids, np.int32) for encoding in islice(found, len(document))]
            ids = [one for one in ids if len(one)]
            if sum(map(len, ids)) >= SHORTEST:
                rows += ids
                lengths += map(len, ids)
                counts.append(len(ids))
        advance(len(some))
    starts = [np.cumsum([0, *numbers], dtype=np.int64) for numbers in (lengths, counts)]
    return {"ids": np.concatenate(rows), "passages": starts[0], "documents": starts[1]}


def _documents(files: Sequence[Path], cap: int | None) -> Iterator[list[str]]:
    """Every document once, in the order of the files."""
    seen: set[bytes] = set()
    for file in files:
        for passages in islice(read_passages(file), cap):
            digest = blake2b("\0".join(passages).encode("utf-8", "replace"), digest_size=16).digest()
            if passages and digest not in seen:
                seen.add(digest)
                yield passages


def _batches(documents: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    while some := list(islice(documents, AT_ONCE)):
        yield some

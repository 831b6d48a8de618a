"""The texts of a run as tokens: documents of one passage or more, and the spans of one step with masked words.

Spans are pieces of documents, in which whole words are masked: no token can then be guessed from the rest of its word
(BERT's whole-word masking). A chosen token is replaced by the mask in 8 of 10 cases and by a random token in 1, and is
kept in 1 (Devlin et al., 2019).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from cdesearch.errors import InputError, SourceError
from trainer.data.pairs.domains import file_digest
from trainer.data.pairs.reading import read_passages
from trainer.data.store import Arrays, Integers, Rows, digest_of, random_stream, stored
from trainer.data.training_batch import Tokens, padded

AT_ONCE = 512  # documents that are tokenised together
SHORTEST = 16  # tokens of a document; there is nothing to learn from a shorter one
CONTINUES = "##"  # the beginning of a token that continues a word, in WordPiece
MASK_SHARE = 0.15  # of the tokens of a span that are chosen
MASKED, RANDOM = 0.8, 0.1  # shares of the chosen tokens


@dataclass(frozen=True, slots=True)
class TokenDocuments:
    """D documents, whose passages are end to end, without special tokens."""

    passages: Rows
    documents: Rows  # the numbers of the passages of each document
    digest: str

    def __len__(self) -> int:
        return len(self.documents)

    def passages_of(self, document: int) -> list[Integers]:
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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The special tokens of a model, and which tokens continue a word."""

    opening: tuple[int, ...]  # the special tokens before a text
    closing: tuple[int, ...]  # and after it
    mask: int  # the token that stands for a masked one
    continues: NDArray[np.bool_]  # (V,) whether a token continues the word of the token before it
    ordinary: Integers  # the tokens that are not special

    @classmethod
    def of(cls, tokenizer: Tokenizer, size: int, mask_token: str) -> "Vocabulary":
        """The vocabulary of a tokenizer for `size` embeddings; raises InputError if it has no token `mask_token`."""
        mask = tokenizer.token_to_id(mask_token)
        if mask is None:
            raise InputError(
                f"The tokenizer has no token {mask_token}.",
                "Set objective.mask_token to a token of it that no text contains.",
            )
        numbers = tokenizer.get_vocab(with_added_tokens=True)
        if (most := max(numbers.values(), default=0)) >= size:
            raise InputError(
                f"The tokenizer has a token {most:,}, and the model has embeddings of {size:,} tokens.",
                "Put the tokenizer.json of the model into its folder.",
            )
        continues = np.zeros(size, bool)
        for token, number in numbers.items():
            continues[number] = token.startswith(CONTINUES) and token != CONTINUES
        special = set(tokenizer.get_added_tokens_decoder()) | {mask}
        ordinary = np.array([number for number in range(tokenizer.get_vocab_size()) if number not in special])
        encoded = tokenizer.encode("a")
        of_text = [at for at, is_special in enumerate(encoded.special_tokens_mask) if not is_special]
        half = len(encoded.ids) // 2  # if the tokenizer knows no such word
        first, end = (of_text[0], of_text[-1] + 1) if of_text else (half, half)
        return cls(tuple(encoded.ids[:first]), tuple(encoded.ids[end:]), mask, continues, ordinary)

    def framed(self, ids: NDArray[Any]) -> Integers:
        """The ids of a text with the special tokens around it."""
        return np.concatenate([self.opening, ids, self.closing]).astype(np.int64)


def choose_words(ids: NDArray[Any], vocabulary: Vocabulary, random: np.random.Generator) -> NDArray[np.bool_]:
    """(T,) which tokens of a framed text (T,) are chosen: whole words of at most MASK_SHARE of them, at least one.

    Words are added in random order until the next one would exceed the share. The first token of a text begins a word,
    even if it continues one in the whole document.
    """
    first, end = len(vocabulary.opening), len(ids) - len(vocabulary.closing)
    chosen = np.zeros(len(ids), bool)
    if end <= first:
        return chosen
    begins = ~vocabulary.continues[ids[first:end]]
    begins[0] = True
    word = np.cumsum(begins) - 1
    order = random.permutation(word[-1] + 1)
    budget = max(1, round(MASK_SHARE * len(word)))
    taken = order[np.cumsum(np.bincount(word)[order]) <= budget]
    chosen[first:end] = np.isin(word, taken if len(taken) else order[:1])
    return chosen


def corrupt(ids: Integers, chosen: NDArray[np.bool_], vocabulary: Vocabulary, random: np.random.Generator) -> Integers:
    """The text (T,) that the network reads instead, in which the chosen tokens are masked, replaced or kept."""
    drawn = random.random(len(ids))
    others = random.choice(vocabulary.ordinary, len(ids))
    read = np.where(chosen & (drawn < MASKED), vocabulary.mask, ids)
    return np.where(chosen & (drawn >= MASKED) & (drawn < MASKED + RANDOM), others, read)


@dataclass(frozen=True, slots=True)
class Spans:
    """N spans as the network reads them. With two spans a document, 2i and 2i + 1 are those of one document."""

    tokens: Tokens  # with masked tokens
    ids: Tensor  # (N, T) the tokens themselves
    chosen: Tensor  # (N, T) true where the token has to be predicted


@dataclass(frozen=True, slots=True)
class SpanSampler:
    """Draws spans of documents. The spans of any step follow from the seed and the step alone."""

    documents: TokenDocuments
    rows: Integers  # the documents to draw from, at least one
    vocabulary: Vocabulary
    max_tokens: int  # of a span, special tokens included
    per_document: int  # 1 or 2 spans
    seed: int

    def of_step(self, step: int, size: int) -> Spans:
        """The spans of `size` different documents, or of all if there are fewer. Every epoch has another order."""
        size = min(size, len(self.rows))
        epoch, place = divmod(step, len(self.rows) // size)
        order = random_stream(self.seed, "order of documents", epoch).permutation(self.rows)
        return self._masked(order[place * size : (place + 1) * size], random_stream(self.seed, "spans", step))

    def of_all(self, limit: int) -> Spans:
        """Spans of the first documents, at most `limit`, the same in every call."""
        return self._masked(self.rows[:limit], random_stream(self.seed, "spans of held-out documents"))

    def _masked(self, documents: Integers, random: np.random.Generator) -> Spans:
        drawn = (self._drawn(self.documents.passages_of(int(document)), random) for document in documents)
        framed = [self.vocabulary.framed(ids) for spans in drawn for ids in spans]
        chosen = [choose_words(ids, self.vocabulary, random) for ids in framed]
        read = [corrupt(ids, some, self.vocabulary, random) for ids, some in zip(framed, chosen, strict=True)]
        return Spans(padded(read), padded(framed).ids, padded(chosen).ids.to(torch.bool))

    def _drawn(self, passages: list[Integers], random: np.random.Generator) -> list[Integers]:
        """One span, or two: of two passages of the document, or of both halves of its only one."""
        if self.per_document == 1:
            drawn = [passages[random.integers(len(passages))]]
        elif len(passages) == 1:
            middle = len(passages[0]) // 2
            drawn = [passages[0][:middle], passages[0][middle:]]
        else:
            drawn = [passages[row] for row in random.choice(len(passages), 2, replace=False)]
        length = self.max_tokens - len(self.vocabulary.opening) - len(self.vocabulary.closing)
        starts = [int(random.integers(max(1, len(ids) - length + 1))) for ids in drawn]
        return [ids[start : start + length] for ids, start in zip(drawn, starts, strict=True)]

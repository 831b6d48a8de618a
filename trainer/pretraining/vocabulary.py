"""What pretraining needs to know about the tokens of a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.errors import InputError

CONTINUES = "##"  # the beginning of a token that continues a word, in WordPiece


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The special tokens of a model, and which tokens continue a word."""

    size: int  # V, of the embeddings, which can be more than the tokenizer has
    opening: tuple[int, ...]  # the special tokens before a text
    closing: tuple[int, ...]  # and after it
    mask: int | None  # the token that stands for a masked one
    continues: NDArray[np.bool_]  # (V,) whether a token continues the word of the token before it
    ordinary: NDArray[np.int64]  # the tokens that are not special

    @classmethod
    def of(cls, tokenizer: Tokenizer, size: int, mask_token: str | None) -> "Vocabulary":
        """The vocabulary of a tokenizer; raises InputError if it has no token `mask_token`, or too many tokens."""
        mask = None if mask_token is None else tokenizer.token_to_id(mask_token)
        if mask_token is not None and mask is None:
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
        opening, closing = _around(tokenizer)
        continues = np.zeros(size, bool)
        for token, number in numbers.items():
            continues[number] = token.startswith(CONTINUES) and token != CONTINUES
        special = set(tokenizer.get_added_tokens_decoder()) | {mask}
        ordinary = np.array([number for number in range(tokenizer.get_vocab_size()) if number not in special])
        return cls(size, opening, closing, mask, continues, ordinary)

    def framed(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """The ids of a text with the special tokens around it."""
        return np.concatenate([self.opening, ids, self.closing]).astype(np.int64)

    @property
    def n_special(self) -> int:
        """How many special tokens are around a text."""
        return len(self.opening) + len(self.closing)


def _around(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that a tokenizer puts before a text and after it."""
    encoded = tokenizer.encode("a")
    of_text = [at for at, is_special in enumerate(encoded.special_tokens_mask) if not is_special]
    half = len(encoded.ids) // 2  # if the tokenizer knows no such word
    first, end = (of_text[0], of_text[-1] + 1) if of_text else (half, half)
    return tuple(encoded.ids[:first]), tuple(encoded.ids[end:])

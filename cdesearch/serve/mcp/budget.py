"""Answers of tools that respect a budget of tokens."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from cdesearch.errors import InputError
from cdesearch.search.passages import count_tokens

# Clients refuse answers of more than 25,000 tokens, and some of them show both forms of an answer.
MAX_TOKENS = 12_000
MIN_TOKENS = 250
DEFAULT_TOKENS = 4_000
CHARACTERS_PER_TOKEN = 4  # the tokenizer of the client's model is unknown: a token counts for at most so many


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool found, in two forms with the same content, of which a client shows one or the other."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of tokens that each form of an answer may have, counted by the tokenizer of the index."""

    max_tokens: int
    tokenizer: Tokenizer

    @property
    def characters(self) -> int:
        """A longer text never fits."""
        return CHARACTERS_PER_TOKEN * self.max_tokens

    def cost(self, answer: Answer) -> int:
        """The tokens of the longer form."""
        return max(map(self._tokens, (answer.text, as_json(answer.data))))

    def largest(self, build: Callable[[int], Answer], size: int) -> tuple[int, Answer]:
        """The largest number up to `size` for which `build` returns an answer that fits, and this answer.

        The length of an answer grows with the number. Raises InputError if not even the answer for zero fits.
        """
        low, high, best = 0, size, build(0)
        if self.cost(best) > self.max_tokens:
            raise too_small(self.max_tokens)
        while low < high:
            middle = (low + high + 1) // 2
            answer = build(middle)
            if self.cost(answer) > self.max_tokens:
                high = middle - 1
            else:
                low, best = middle, answer
        return low, best

    def _tokens(self, text: str) -> int:
        return max(count_tokens(text, self.tokenizer), -(-len(text) // CHARACTERS_PER_TOKEN))


def as_json(data: dict[str, Any]) -> str:
    """The structured form as a client shows it."""
    return json.dumps(data, ensure_ascii=False)


def too_small(max_tokens: int) -> InputError:
    """The error for an answer whose shortest form does not fit."""
    return InputError(f"Nothing fits into {max_tokens} tokens here.", "Ask with a larger max_tokens.")

"""Limit the number of tokens of the answer of a tool."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from cdesearch.errors import InputError
from cdesearch.search.passages import count_tokens

# Clients refuse answers of more than 25,000 tokens, and some of them pass both forms of an answer to the model.
MAX_TOKENS = 12_000
MIN_TOKENS = 250
DEFAULT_TOKENS = 4_000
# The tokenizer of the client's model is unknown. Its tokens are assumed to have at most this many characters.
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool, as text and as structured data. Clients use one form or the other, so both are complete."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum number of tokens of each form of an answer, counted with the tokenizer of the index."""

    max_tokens: int
    tokenizer: Tokenizer

    @property
    def characters(self) -> int:
        """The maximum number of characters: a longer text never fits."""
        return CHARACTERS_PER_TOKEN * self.max_tokens

    def cost(self, answer: Answer) -> int:
        """Return the number of tokens of the longer form of the answer."""
        return max(map(self._tokens, (answer.text, as_json(answer.data))))

    def largest(self, build: Callable[[int], Answer], size: int) -> tuple[int, Answer]:
        """Find the largest number up to `size` for which the answer of `build` fits; return the number and the answer.

        The length of an answer must grow with the number. Raises InputError if not even the answer for zero fits.
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
    """Return the structured form of an answer as the JSON text that a client passes to the model."""
    return json.dumps(data, ensure_ascii=False)


def too_small(max_tokens: int) -> InputError:
    """Return the error for a budget that even the shortest answer exceeds."""
    return InputError(f"The answer does not fit into {max_tokens} tokens.", "Use a larger max_tokens.")

"""Answers of tools within a budget of tokens, and cursors, which mark where the next part of an answer starts."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from tokenizers import Tokenizer

from cdesearch.errors import InputError
from cdesearch.search.passages import count_tokens
from cdesearch.serve.indexes import ServedIndex, ServedTogether

# Clients refuse answers of more than 25,000 tokens, and some of them pass both forms of an answer to the model.
MAX_TOKENS = 12_000
MIN_TOKENS = 250
DEFAULT_TOKENS = 4_000
# The tokenizer of the client's model is unknown. Its tokens are assumed to have at most this many characters.
CHARACTERS_PER_TOKEN = 4

_CURSOR = re.compile(r"(\d{1,9})-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool, as text and as structured data. Clients use one form or the other, so both are complete."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of an answer a caller wants: as much as fits into `max_tokens`, from a cursor on."""

    max_tokens: int = DEFAULT_TOKENS
    cursor: str | None = None

    def start(self, served: ServedIndex | ServedTogether, call: tuple[object, ...]) -> int:
        """The item at which the cursor continues `call`, counted from 0. Without a cursor, it is 0.

        Raises InputError for a cursor of another call, or of an older state of the index.
        """
        if self.cursor is None:
            return 0
        match = _CURSOR.fullmatch(self.cursor)
        if match is None:
            raise InputError(f"{self.cursor!r:.60} is not a cursor.", "Copy it from the answer to be continued.")
        if match[2] != _checksum(served, call):
            raise InputError(
                "The cursor belongs to a call with other arguments, or the index has been updated since.",
                "Repeat the call without a cursor.",
            )
        return int(match[1])


def make_cursor(served: ServedIndex | ServedTogether, call: tuple[object, ...], start: int) -> str:
    """A cursor that continues `call` at the item `start`, counted from 0."""
    return f"{start}-{_checksum(served, call)}"


def _checksum(served: ServedIndex | ServedTogether, call: tuple[object, ...]) -> str:
    state = (served.name, served.state, *call)
    return blake2b(repr(state).encode(), digest_size=4).hexdigest()


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
        """The number of tokens of the longer form of the answer."""
        return max(map(self._tokens, (answer.text, json.dumps(answer.data, ensure_ascii=False))))

    def largest(self, build: Callable[[int], Answer], size: int) -> tuple[int, Answer]:
        """The largest number up to `size` for which the answer of `build` fits, and that answer.

        The length of an answer must grow with the number. Raises InputError if not even the answer for zero fits.
        """
        low, high, best = 0, size, build(0)
        if self.cost(best) > self.max_tokens:
            raise self.too_small()
        while low < high:
            middle = (low + high + 1) // 2
            answer = build(middle)
            if self.cost(answer) > self.max_tokens:
                high = middle - 1
            else:
                low, best = middle, answer
        return low, best

    def too_small(self) -> InputError:
        """The error for a budget that even the shortest answer exceeds."""
        return InputError(f"The answer does not fit into {self.max_tokens} tokens.", "Use a larger max_tokens.")

    def _tokens(self, text: str) -> int:
        least = -(-len(text) // CHARACTERS_PER_TOKEN)
        return least if least > self.max_tokens else max(count_tokens(text, self.tokenizer), least)

"""Answers for language models within a budget of tokens."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from cdesearch.errors import InputError
from cdesearch.search.passage_lines import best_row, query_words
from cdesearch.search.passages import Passage, count_tokens, fit_passages, tokens_of
from cdesearch.store.schema import Hit

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
class Part:
    """Which part of an answer a caller wants: as much as fits into `max_tokens`, after the first `offset` items."""

    max_tokens: int = DEFAULT_TOKENS
    offset: int = 0


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

    def of_hits(self, hits: Sequence[Hit], query: str, build: Callable[[Sequence[Passage]], Answer]) -> Answer:
        """The answer of `build` for the passages of the best hits, as many as fit; InputError if not even one fits."""
        words, room = query_words(query), self.max_tokens
        while True:
            passages = fit_passages(hits, room, self.tokenizer, lambda hit: best_row(hit, words))
            answer = build(passages)
            cost = self.cost(answer)
            if cost <= self.max_tokens and (passages or not hits):
                return answer
            if not passages:
                raise self.too_small()
            used = sum(tokens_of(passage, self.tokenizer) for passage in passages)
            room = min(room - 1, used * self.max_tokens // cost)  # locations and field names need some of the tokens

    def largest(self, build: Callable[[int], Answer], size: int) -> Answer:
        """The answer of `build` for the largest number up to `size` for which it fits.

        The length of an answer must grow with the number. Raises InputError if not even the answer for one item fits.
        """
        low, high, best = 0, size, build(0)
        while low < high:
            middle = (low + high + 1) // 2
            answer = build(middle)
            if self.cost(answer) > self.max_tokens:
                high = middle - 1
            else:
                low, best = middle, answer
        if self.cost(best) > self.max_tokens or (size and not low):
            raise self.too_small()
        return best

    def too_small(self) -> InputError:
        """The error for a budget that even the shortest answer exceeds."""
        return InputError(f"The answer does not fit into {self.max_tokens} tokens.", "Use a larger max_tokens.")

    def _tokens(self, text: str) -> int:
        least = -(-len(text) // CHARACTERS_PER_TOKEN)
        return least if least > self.max_tokens else max(count_tokens(text, self.tokenizer), least)

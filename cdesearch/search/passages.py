"""Fit the hits of a search into a budget of tokens: neighbours joined, repetitions dropped, the last one cut."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from cdesearch.search.sentences import split_sentences
from cdesearch.store.schema import Chunk, Hit

OMISSION = " …"
# To some tokenizers a word of many letters, such as an encoded picture, is one token: a token counts for at most so
# many characters.
CHARACTERS_PER_TOKEN = 8
MAX_BLANK_LINES = 5  # between two chunks that become one passage
SHINGLE = 5  # words in a row
REPEATED = 0.8  # a text is left out if so much of it (its shingles) stands in better hits


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive text of one document, made of the chunks of one or more hits."""

    path: str  # of the file, relative to the root of the index
    document_id: str
    record: str | None
    title: str
    trail: tuple[str, ...]  # headings above its start, outermost first
    text: str  # OMISSION marks where words are left out
    line_start: int | None
    line_end: int | None
    page: int | None  # of its start
    page_end: int | None
    score: float  # of its best hit
    chunk_ids: tuple[str, ...]  # in the order of the text

    @property
    def location(self) -> str:
        """`path:line`, `path#page=n`, or the path alone."""
        if self.page is not None:
            return f"{self.path}#page={self.page}"
        return self.path if self.line_start is None else f"{self.path}:{self.line_start}"

    @property
    def heading(self) -> str:
        """One line above the text: the location, the title and the trail."""
        above = " > ".join(part for part in (self.title, *self.trail) if part)
        return " ".join(f"{self.location} {above}".split())


def count_tokens(text: str, tokenizer: Tokenizer) -> int:
    """The tokens that `text` takes of a budget."""
    n_tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return max(n_tokens, -(-len(text) // CHARACTERS_PER_TOKEN))


def tokens_of(passage: Passage, tokenizer: Tokenizer) -> int:
    """The tokens that a passage takes of a budget: those of its heading and its text."""
    return count_tokens(f"{passage.heading}\n{passage.text}", tokenizer)


def fit_passages(hits: Iterable[Hit], max_tokens: int, tokenizer: Tokenizer) -> tuple[Passage, ...]:
    """The passages of the best hits, best first, with at most `max_tokens` tokens (`tokens_of`) together.

    Hits are taken in their order. The first one that does not fit is cut after a sentence and is the last one. The
    best hit is cut within its first sentence if that is too long. Hits of neighbouring chunks become one passage.
    """
    selection = _Selection(max_tokens, tokenizer)
    for hit in hits:
        if not selection.add(hit):
            break
    return selection.passages()


_Run = tuple[list[Hit], int]  # hits of neighbouring chunks in the order of the text, and their tokens together


class _Selection:
    """The hits that are chosen so far, as runs of neighbours in the order of their text."""

    def __init__(self, max_tokens: int, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._left = max_tokens
        self._runs: list[_Run] = []
        self._seen: set[tuple[str, ...]] = set()

    def add(self, hit: Hit) -> bool:
        """Choose `hit`, whole or cut, unless its text is known; false if the budget is spent."""
        shingles = _shingles(hit.chunk.body)
        if len(shingles & self._seen) >= REPEATED * len(shingles):
            return True
        self._seen |= shingles
        if self._join(hit):
            return True
        text = hit.chunk.body
        is_cut = self._join_start(hit, [sentence.end for sentence in split_sentences(text)][:-1])
        if not is_cut and not self._runs:  # rather half a sentence than nothing
            start = text[: CHARACTERS_PER_TOKEN * self._left]
            self._join_start(hit, [match.end() for match in re.finditer(r"\S+", start)])
        return False

    def _join_start(self, hit: Hit, ends: Sequence[int]) -> bool:
        """Add as much of the hit as fits, up to one of `ends`; false if not even the first of them fits."""
        n_fitting = bisect_right(ends, self._left, key=lambda end: self._cost_with(_cut(hit, end)))
        # The count of tokens can fall by one where a text grows to the end of a word, so the last one may not fit.
        while n_fitting and not self._join(_cut(hit, ends[n_fitting - 1])):
            n_fitting -= 1
        return n_fitting > 0

    def passages(self) -> tuple[Passage, ...]:
        """The runs as passages, best first."""
        ordered = sorted((run for run, _ in self._runs), key=lambda run: min(hit.rank for hit in run))
        return tuple(map(_passage, ordered))

    def _join(self, hit: Hit) -> bool:
        """Add the hit to the runs that it continues; false, without a change, if they do not fit then."""
        near, far = self._split_runs(hit)
        run = _in_order(near, hit)
        cost = tokens_of(_passage(run), self._tokenizer)
        left = self._left + sum(tokens for _, tokens in near) - cost
        if left < 0:
            return False
        self._runs, self._left = [*far, (run, cost)], left
        return True

    def _cost_with(self, hit: Hit) -> int:
        near, _ = self._split_runs(hit)
        return tokens_of(_passage(_in_order(near, hit)), self._tokenizer) - sum(tokens for _, tokens in near)

    def _split_runs(self, hit: Hit) -> tuple[list[_Run], list[_Run]]:
        """The runs that `hit` continues, and the others."""
        near: list[_Run] = []
        far: list[_Run] = []
        for run in self._runs:
            hits, _ = run
            joins = _continues(hits[-1].chunk, hit.chunk) or _continues(hit.chunk, hits[0].chunk)
            (near if joins else far).append(run)
        return near, far


def _continues(chunk: Chunk, following: Chunk) -> bool:
    """Whether the second chunk follows the first one in its document, so close that blanks can join them."""
    return (
        (chunk.document_id, chunk.record, chunk.ordinal + 1)
        == (following.document_id, following.record, following.ordinal)
        and (_lines_between(chunk, following) or 0) in range(MAX_BLANK_LINES + 2)
        and not chunk.text.endswith(OMISSION)
    )


def _in_order(runs: Sequence[_Run], hit: Hit) -> list[Hit]:
    return sorted([*(one for run, _ in runs for one in run), hit], key=lambda one: one.chunk.ordinal)


def _cut(hit: Hit, end: int) -> Hit:
    """The hit with the first `end` characters of its body, and OMISSION."""
    chunk = hit.chunk
    kept = chunk.body[:end]
    line_end = None if chunk.line_start is None else chunk.line_start + kept.count("\n")
    text = chunk.text[: chunk.body_start] + kept + OMISSION
    return replace(hit, chunk=replace(chunk, text=text, line_end=line_end))


def _passage(run: Sequence[Hit]) -> Passage:
    first, last = run[0].chunk, run[-1].chunk
    text, before = first.body, first
    for hit in run[1:]:
        text += _gap(before, hit.chunk) + hit.chunk.body
        before = hit.chunk
    return Passage(
        path=first.path,
        document_id=first.document_id,
        record=first.record,
        title=first.title,
        trail=first.trail,
        text=text,
        line_start=first.line_start,
        line_end=last.line_end,
        page=first.page,
        page_end=last.page,
        score=max(hit.score for hit in run),
        chunk_ids=tuple(hit.chunk.id for hit in run),
    )


def _gap(chunk: Chunk, following: Chunk) -> str:
    """The blanks between two chunks, which their bodies do not contain."""
    n_lines = _lines_between(chunk, following)
    return "\n" if n_lines is None else "\n" * n_lines or " "


def _lines_between(chunk: Chunk, following: Chunk) -> int | None:
    """How many lines the second chunk starts below the end of the first; None for formats without lines."""
    if chunk.line_end is None or following.line_start is None:
        return None
    return following.line_start - chunk.line_end


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower()) or [text]
    return {tuple(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1))}

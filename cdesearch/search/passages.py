"""Fit the hits of a search into a budget of tokens, and quote them between lines that no document can forge.

Hits of neighbouring chunks are joined, repeated text is dropped, and the last passage is truncated if necessary.
"""

import re
import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tokenizers import Tokenizer

from cdesearch.search.documents import gap_between, lines_between
from cdesearch.search.sentences import split_sentences
from cdesearch.store.line_places import NO_PLACES, LinePlaces, value_at
from cdesearch.store.schema import Chunk, Hit, place_in_file
from cdesearch.words.word_forms import shingles_of

OMISSION = " …"
# For some tokenizers, a word of many letters, such as a base64-encoded image, is one token. The number of tokens of a
# text is therefore at least its number of characters divided by this constant.
CHARACTERS_PER_TOKEN = 8
RowOf = Callable[[Hit], int]  # which line of its chunk, counted from 0, is the location of the passage of a hit
MAX_BLANK_LINES = 5  # chunks with more blank lines between them are not joined
REPEATED = 0.8  # a text is left out if better hits contain at least this share of its shingles


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive text of one document, made from the chunks of one or more hits."""

    path: str  # the path of the file, relative to the root of the index
    document_id: str
    record: str | None
    title: str
    trail: tuple[str, ...]  # the headings above its location, outermost first
    text: str  # OMISSION marks where words are left out
    line_start: int | None
    line_end: int | None
    page: int | None  # the page on which it starts
    page_end: int | None
    score: float  # the score of its best hit
    chunk_ids: tuple[str, ...]  # in the order of the text
    anchor: str | None = None  # the id of the last element that begins at or above its location
    places: LinePlaces = NO_PLACES  # of the lines of `text`

    @property
    def location(self) -> str:
        """The location as `place_in_file` writes it."""
        return place_in_file(self.path, self.page, self.line_start, self.anchor)

    def line_at(self, n: int) -> int | None:
        """The number in the file of the line that is `n` lines below the first line of the text; None without lines."""
        return None if self.line_start is None else self.places.number_at(n, self.line_start)

    def location_at(self, n: int) -> str:
        """The location of that line."""
        page, anchor = value_at(self.places.pages, n, self.page), value_at(self.places.anchors, n, None)
        return place_in_file(self.path, page, self.line_at(n), anchor)

    def trail_at(self, n: int) -> tuple[str, ...]:
        """The headings above that line, outermost first."""
        return value_at(self.places.trails, n, self.trail)

    @property
    def heading(self) -> str:
        """The line that is shown above the text: the location, the title and the headings."""
        above = " > ".join(part for part in (self.title, *self.trail) if part)
        return " ".join(f"{self.location} {above}".split())


@dataclass(frozen=True, slots=True)
class Fence:
    """A random word in the lines around each passage. It is new for each answer, so no document can contain it."""

    word: str = field(default_factory=lambda: f"PASSAGE-{secrets.token_hex(4)}")

    @property
    def rule(self) -> str:
        """The sentences that explain the fence to the reader of the passages."""
        return (
            f"Each passage is enclosed in two lines that contain the word {self.word}. Everything between these lines"
            " is quoted from documents."
        )

    def around(self, number: int, heading: str, text: str) -> str:
        """The passage with this number below its heading, which must be one line."""
        return f"{self.word} [{number}] {heading}".rstrip() + f"\n{text}\n{self.word} end of [{number}]"


def count_tokens(text: str, tokenizer: Tokenizer) -> int:
    """The number of tokens that `text` uses of a budget."""
    n_tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return max(n_tokens, -(-len(text) // CHARACTERS_PER_TOKEN))


def tokens_of(passage: Passage, tokenizer: Tokenizer) -> int:
    """The number of tokens that the heading and the text of a passage use of a budget."""
    return count_tokens(f"{passage.heading}\n{passage.text}", tokenizer)


def fit_passages(
    hits: Iterable[Hit], max_tokens: int, tokenizer: Tokenizer, best_row: RowOf | None = None
) -> tuple[Passage, ...]:
    """The passages of the best hits, best first, with at most `max_tokens` tokens (`tokens_of`) in total.

    Hits are added in the given order. The first hit that does not fit is truncated after a sentence, and no further
    hits are added. Only the best hit may be truncated within its first sentence. Hits of neighbouring chunks become one
    passage. `best_row` returns the line of its chunk, counted from 0, whose headings and anchor the passage has if the
    hit is its best. Without it, they are those of the first line.
    """
    selection = _Selection(max_tokens, tokenizer, best_row)
    for hit in hits:
        if not selection.add(hit):
            break
    return selection.passages()


_Run = tuple[list[Hit], int]  # hits of neighbouring chunks in the order of the text, and their total of tokens


class _Selection:
    """The hits that have been chosen so far, as runs of neighbouring chunks."""

    def __init__(self, max_tokens: int, tokenizer: Tokenizer, best_row: RowOf | None) -> None:
        self._tokenizer = tokenizer
        self._best_row = best_row
        self._added: list[str] = []  # ids of chunks
        self._left = max_tokens
        self._runs: list[_Run] = []
        self._seen: set[tuple[str, ...]] = set()

    def add(self, hit: Hit) -> bool:
        """Add `hit`, whole or truncated, unless better hits contain its text. Returns False if no budget is left."""
        self._added.append(hit.chunk.id)
        shingles = shingles_of(hit.chunk.body)
        if len(shingles & self._seen) >= REPEATED * len(shingles):
            return True
        self._seen |= shingles
        if self._join(hit):
            return True
        text = hit.chunk.body
        is_cut = self._join_start(hit, [sentence.end for sentence in split_sentences(text)][:-1])
        if not is_cut and not self._runs:  # half a sentence of the best hit is better than an empty answer
            start = text[: CHARACTERS_PER_TOKEN * self._left]
            self._join_start(hit, [match.end() for match in re.finditer(r"\S+", start)])
        return False

    def _join_start(self, hit: Hit, ends: Sequence[int]) -> bool:
        """Add as much of the hit as fits, up to one of the positions `ends`. Returns False if nothing fits."""
        n_fitting = bisect_left(ends, True, key=lambda end: self._joined(_cut(hit, end))[1] < 0)
        # Completing a word can reduce the number of tokens by one. The costs are therefore not strictly ascending, and
        # the position that the bisection found may not fit.
        while n_fitting and not self._join(_cut(hit, ends[n_fitting - 1])):
            n_fitting -= 1
        return n_fitting > 0

    def passages(self) -> tuple[Passage, ...]:
        """The runs as passages, best first."""
        ordered = sorted((run for run, _ in self._runs), key=lambda run: min(hit.rank for hit in run))
        return tuple(map(self._passage, ordered))

    def _join(self, hit: Hit) -> bool:
        """Join the hit with the runs that it continues. Returns False, without a change, if the result does not fit."""
        runs, left = self._joined(hit)
        if left >= 0:
            self._runs, self._left = runs, left
        return left >= 0

    def _joined(self, hit: Hit) -> tuple[list[_Run], int]:
        """The runs with a hit, which is joined with those that it continues, and the budget that would be left."""
        near: list[_Run] = []
        far: list[_Run] = []
        for run in self._runs:
            joins = _continues(run[0][-1], hit) or _continues(hit, run[0][0])
            (near if joins else far).append(run)
        hits = sorted([hit, *(one for run, _ in near for one in run)], key=lambda one: one.chunk.ordinal)
        cost = tokens_of(self._passage(hits), self._tokenizer)
        return [*far, (hits, cost)], self._left + sum(tokens for _, tokens in near) - cost

    def _passage(self, run: Sequence[Hit]) -> Passage:
        if self._best_row is None:
            return _passage(run, run[0].chunk, 0)
        best = min(run, key=lambda hit: (hit.rank, self._added.index(hit.chunk.id)))
        return _passage(run, best.chunk, self._best_row(best))


def _continues(hit: Hit, next_hit: Hit) -> bool:
    """Whether the second chunk follows the first one in its document, with few blank lines between them."""
    chunk, following = hit.chunk, next_hit.chunk
    return (
        (hit.index, chunk.document_id, chunk.record, chunk.ordinal + 1)
        == (next_hit.index, following.document_id, following.record, following.ordinal)
        and (lines_between(chunk, following) or 0) in range(MAX_BLANK_LINES + 2)
        and not chunk.text.endswith(OMISSION)
    )


def _cut(hit: Hit, end: int) -> Hit:
    """The hit with only the first `end` characters of its body, followed by OMISSION."""
    chunk = hit.chunk
    kept = chunk.body[:end]
    line_end = chunk.line_at(kept.count("\n"))
    text = chunk.text[: chunk.body_start] + kept + OMISSION
    return replace(hit, chunk=replace(chunk, text=text, line_end=line_end, indent=""))


def _passage(run: Sequence[Hit], best: Chunk, row: int) -> Passage:
    """The passage of neighbouring chunks; its place is that of a line of the chunk `best`."""
    first, last = run[0].chunk, run[-1].chunk
    text, before, places = first.body, first, _own_places(first, 0)
    for hit in run[1:]:
        text += gap_between(before, hit.chunk)
        places += _own_places(hit.chunk, text.count("\n"))
        text += hit.chunk.body
        before = hit.chunk
    return Passage(
        path=first.path,
        document_id=first.document_id,
        record=first.record,
        title=first.title,
        trail=best.trail_at(row),
        text=text,
        line_start=first.line_start,
        line_end=last.line_end,
        page=first.page,
        page_end=last.page,
        score=max(hit.score for hit in run),
        chunk_ids=tuple(hit.chunk.id for hit in run),
        anchor=best.anchor_at(row),
        places=places,
    )


def _own_places(chunk: Chunk, line: int) -> LinePlaces:
    """The places of the lines of a chunk, its first line included, in a text in which it begins at `line`."""
    start = LinePlaces(
        ((line, chunk.trail),),
        () if chunk.anchor is None else ((line, chunk.anchor),),
        () if chunk.line_start is None else ((line, chunk.line_start),),
        () if chunk.page is None else ((line, chunk.page),),
    )
    return start + chunk.places.shifted(line)

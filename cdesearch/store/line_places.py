"""The places of the lines of a text: the headings above them, the anchors, and their numbers in the file."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from msgspec import Meta

Value = TypeVar("Value")
Number = Annotated[int, Meta(ge=0, le=1 << 53)]  # of lines, pages and chunks
Trail = tuple[str, ...]
Entries = tuple[tuple[Number, Value], ...]

MAX_ENTRIES = 512  # of each kind in one text


@dataclass(frozen=True, slots=True)
class LinePlaces:
    """Where places change within a text. An entry holds from a line of the text on, until the next entry.

    The lines of the text are counted from 0. The places of the first line are stored elsewhere, with the text.
    """

    trails: Entries[Trail] = ()  # the headings above a line, outermost first
    anchors: Entries[str] = ()  # the id of the last element that begins at or above a line
    numbers: Entries[Number] = ()  # the number of a line in its file; the lines that follow are consecutive
    pages: Entries[Number] = ()  # only in texts of several chunks

    def number_at(self, line: int, first: int) -> int:
        """The number of a line in the file; `first` is that of the first line of the text."""
        start, number = _last(self.numbers, line) or (0, first)
        return number + line - start

    def shifted(self, by: int) -> "LinePlaces":
        """The same places in a text in which `by` lines precede."""
        kinds: Any = (self.trails, self.anchors, self.numbers, self.pages)
        return LinePlaces(*(tuple((line + by, value) for line, value in entries) for entries in kinds))

    def __add__(self, other: "LinePlaces") -> "LinePlaces":
        """The entries of both. Those of `other` must be further below."""
        return LinePlaces(
            self.trails + other.trails,
            self.anchors + other.anchors,
            self.numbers + other.numbers,
            self.pages + other.pages,
        )


NO_PLACES = LinePlaces()


class Changes:
    """Collects the entries of one kind. Later entries of the same line replace earlier ones."""

    def __init__(self, first: Any) -> None:
        """`first` is the value that holds for the first line."""
        self._first = first
        self.entries: list[tuple[int, Any]] = []

    def add(self, line: int, value: Any) -> None:
        """Let `value` hold from `line` on."""
        if self.entries and self.entries[-1][0] == line:
            self.entries.pop()
        last = self.entries[-1][1] if self.entries else self._first
        if value != last and len(self.entries) < MAX_ENTRIES:
            self.entries.append((line, value))


def value_at(entries: Entries[Value], line: int, first: Value) -> Value:
    """The value that holds for a line; `first` is that of the first line of the text."""
    found = _last(entries, line)
    return first if found is None else found[1]


def _last(entries: Entries[Value], line: int) -> tuple[int, Value] | None:
    """The last entry at or above a line, or None."""
    number = bisect_right(entries, line, key=lambda entry: entry[0])
    return entries[number - 1] if number else None


def numbered(numbers: Sequence[int], lines: Sequence[str]) -> Entries[int]:
    """The entries for lines with these numbers. Lines without a word need none."""
    entries: list[tuple[int, int]] = []
    start, first = 0, numbers[0] if numbers else 0
    for line, (number, text) in enumerate(zip(numbers, lines, strict=False)):
        if number != first + line - start and text.strip() and len(entries) < MAX_ENTRIES:
            entries.append((line, number))
            start, first = line, number
    return tuple(entries)

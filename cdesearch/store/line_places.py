"""The places of the lines of a text: the headings above them, the anchors, and their numbers in the file."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

Value = TypeVar("Value")
Trail = tuple[str, ...]
Entries = tuple[tuple[int, Value], ...]

MAX_ENTRIES = 512  # of each kind in one text
MAX_TITLES = 100_000  # of the headings above all lines of one text


@dataclass(frozen=True, slots=True)
class LinePlaces:
    """Where places change within a text. An entry holds from a line of the text on, until the next entry.

    The lines of the text are counted from 0. The places of the first line are stored elsewhere, with the text.
    """

    trails: Entries[Trail] = ()  # the headings above a line, outermost first
    anchors: Entries[str] = ()  # the id of the last element that begins at or above a line
    numbers: Entries[int] = ()  # the number of a line in its file; the lines that follow are consecutive
    pages: Entries[int] = ()  # only in texts of several chunks

    def number_at(self, line: int, first: int) -> int:
        """The number of a line in the file; `first` is that of the first line of the text."""
        start, number = _last(self.numbers, line) or (0, first)
        return number + line - start

    def shifted(self, by: int) -> "LinePlaces":
        """The same places in a text in which `by` lines precede."""
        return LinePlaces(
            tuple((line + by, trail) for line, trail in self.trails),
            tuple((line + by, anchor) for line, anchor in self.anchors),
            tuple((line + by, number) for line, number in self.numbers),
            tuple((line + by, page) for line, page in self.pages),
        )

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


def to_json(places: LinePlaces, trail: Trail) -> dict[str, Any]:
    """The entries as an index stores them; `trail` holds for the first line.

    Of a trail, the number of headings that it shares with the one before and its other headings are stored.
    """
    headings = []
    for line, new in places.trails:
        kept = next((n for n, (one, other) in enumerate(zip(trail, new, strict=False)) if one != other), None)
        kept = min(len(trail), len(new)) if kept is None else kept
        headings.append([line, kept, *new[kept:]])
        trail = new
    stored = {"headings": headings, "anchors": places.anchors, "numbers": places.numbers}
    return {name: entries for name, entries in stored.items() if entries}


def from_json(values: dict[str, Any], trail: Trail, n_lines: int, maximum: int) -> LinePlaces:
    """The entries that `to_json` wrote for a text of `n_lines` lines; raises ValueError for impossible ones.

    Titles and anchors may be any text; the caller checks their characters. Numbers of lines are at most `maximum`.
    """
    stored = {name: list(_checked(values.get(name, []), n_lines)) for name in ("headings", "anchors", "numbers")}
    if not all(len(entry) == 2 and type(entry[1]) is str for entry in stored["anchors"]):
        raise ValueError("an anchor is not a text")
    if not all(len(entry) == 2 and type(entry[1]) is int and 0 <= entry[1] <= maximum for entry in stored["numbers"]):
        raise ValueError("a line has an impossible number")
    for entry in stored["headings"]:
        is_possible = len(entry) > 1 and type(entry[1]) is int and entry[1] >= 0
        if not is_possible or not all(type(title) is str for title in entry[2:]):
            raise ValueError("a heading is not a text")
    trails = list(_trails(stored["headings"], trail))
    return LinePlaces(
        tuple(trails),
        tuple((line, anchor) for line, anchor in stored["anchors"]),
        tuple((line, number) for line, number in stored["numbers"]),
    )


def _checked(entries: Any, n_lines: int) -> Iterator[list[Any]]:
    """The entries of one kind, whose lines must ascend."""
    if type(entries) is not list or len(entries) > MAX_ENTRIES:
        raise ValueError("the places of lines are not a list of usual length")
    last = -1
    for entry in entries:
        if type(entry) is not list or not entry or type(entry[0]) is not int or not last < entry[0] < n_lines:
            raise ValueError("the place of a line has an impossible line")
        last = entry[0]
        yield entry


def _trails(headings: list[list[Any]], trail: Trail) -> Iterator[tuple[int, Trail]]:
    sizes = accumulate(entry[1] + len(entry) - 2 for entry in headings)
    for (line, kept, *titles), size in zip(headings, sizes, strict=True):
        if kept > len(trail) or size > MAX_TITLES:
            raise ValueError("a line has impossible headings")
        trail = (*trail[:kept], *titles)
        yield line, trail

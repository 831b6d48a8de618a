"""The stored text of a document as lines, numbered by the lines of its file, by pages, or by parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cdesearch.errors import InputError
from cdesearch.store.schema import Chunk

Unit = Literal["lines", "page", "part"]

_RANGE = re.compile(r"(\d{1,9})(?:\s*-\s*(\d{0,9}))?")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with a number: that of the line in the file, of the page, or of the part."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class DocumentLines:
    """The lines of a document, numbered by `unit`. All lines of a page or of a part have the same number."""

    unit: Unit
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "DocumentLines":
        """Return the lines of a document from all of its chunks, which must be in the order of the text."""
        if all(chunk.line_start is not None for chunk in chunks):
            return cls("lines", tuple(_file_lines(chunks)))
        has_pages = all(chunk.page is not None for chunk in chunks)
        numbers = [chunk.page or 0 if has_pages else part for part, chunk in enumerate(chunks, start=1)]
        lines = [
            Line(number, text)
            for number, chunk in zip(numbers, chunks, strict=True)
            for text in (*chunk.body.strip("\n").split("\n"), "")
        ]
        return cls("page" if has_pages else "part", tuple(lines[:-1]))

    @property
    def total(self) -> int:
        """The number of the last line, page or part."""
        return self.lines[-1].number

    def within(self, first: int, last: int) -> range:
        """Return the positions in `lines` whose numbers are between `first` and `last`, both included."""
        positions = [at for at, line in enumerate(self.lines) if first <= line.number <= last]
        return range(positions[0], positions[-1] + 1) if positions else range(0)


def parse_range(name: str, value: str) -> tuple[int, int]:
    """Return the first and last number of a range such as "10-40", "10" or "10-"; raises InputError.

    `name` is the parameter that contains the range.
    """
    match = _RANGE.fullmatch(value.strip())
    if match is None:
        raise InputError(f"{name} cannot be {value!r:.60}.", f'Use a range such as {name}="10-40", or one number.')
    first = int(match[1])
    last = first if match[2] is None else int(match[2] or 10**9)
    if not 1 <= first <= last:
        raise InputError(f"{name} cannot be {value!r:.60}.", "Numbers start at 1, and the smaller one comes first.")
    return first, last


def _file_lines(chunks: Sequence[Chunk]) -> list[Line]:
    """Return the lines of the file. Blank lines between two chunks are not stored, so one blank line replaces them."""
    lines: list[Line] = []
    for chunk in chunks:
        start = chunk.line_start or 0
        if lines and start > lines[-1].number + 1:
            lines.append(Line(lines[-1].number + 1, ""))
        for row, text in enumerate(chunk.body.rstrip().split("\n")):
            number = chunk.places.number_at(row, start)
            continues = not row and lines and lines[-1].number >= number  # a long line of the chunk before it
            if continues:
                lines[-1] = Line(lines[-1].number, f"{lines[-1].text} {text}")
            else:
                lines.append(Line(number, text))
    return lines

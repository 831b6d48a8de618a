"""The stored text of a document as numbered lines: by the lines of its file, by pages, or by parts."""

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
    """A line of text, with the number of its line in the file, of its page, or of its part."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class DocumentLines:
    """A document in lines that are numbered by `unit`. The numbers ascend; pages and parts have several lines."""

    unit: Unit
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "DocumentLines":
        """The lines of all chunks of a document, in the order of its text."""
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
        """The number of lines, pages or parts."""
        return self.lines[-1].number

    def within(self, first: int, last: int) -> range:
        """The positions in `lines` of the numbers from `first` to `last`."""
        positions = [at for at, line in enumerate(self.lines) if first <= line.number <= last]
        return range(positions[0], positions[-1] + 1) if positions else range(0)


def parse_range(name: str, value: str) -> tuple[int, int]:
    """The first and last number of "10-40", "10" or "10-"; raises InputError."""
    match = _RANGE.fullmatch(value.strip())
    if match is None:
        raise InputError(f"{name} cannot be {value!r:.60}.", f'Give a range such as {name}="10-40", or one number.')
    first = int(match[1])
    last = first if match[2] is None else int(match[2] or 10**9)
    if not 1 <= first <= last:
        raise InputError(f"{name} cannot be {value!r:.60}.", "Numbers start at 1, and the smaller one comes first.")
    return first, last


def _file_lines(chunks: Sequence[Chunk]) -> list[Line]:
    """The lines of the file. Of several blank lines between two chunks one is kept: chunks do not contain them."""
    lines: list[Line] = []
    for chunk in chunks:
        start = chunk.line_start or 0
        if lines and start > lines[-1].number + 1:
            lines.append(Line(lines[-1].number + 1, ""))
        for number, text in enumerate(chunk.body.rstrip().split("\n"), start=start):
            if lines and lines[-1].number >= number:  # a long line that continues in this chunk
                lines[-1] = Line(lines[-1].number, f"{lines[-1].text} {text}")
            else:
                lines.append(Line(number, text))
    return lines

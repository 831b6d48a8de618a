"""The places of offsets in a document: the headings above, the line, the page and the anchor."""

from bisect import bisect_left, bisect_right

from cdesearch.store.line_places import MAX_ENTRIES, Changes, Entries, LinePlaces, numbered
from cdesearch.store.schema import Inline
from indexer.formats.format import Document

MAX_WORDS = 300  # characters of an inline element; the others stay in the text


class Trails:
    """The headings above an offset in a document; the time to find them does not grow with their number."""

    def __init__(self, document: Document) -> None:
        self._headings = document.headings
        self._title = document.title
        self._offsets = [heading.offset for heading in document.headings]
        self.starts = frozenset(heading.offset for heading in document.headings if heading.title)
        self._above: list[int] = []  # for each heading, the nearest one of a lower level before it; -1 if there is none
        for number, heading in enumerate(self._headings):
            above = number - 1
            while above >= 0 and self._headings[above].level >= heading.level:
                above = self._above[above]
            self._above.append(above)

    def at(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, outermost first, without the title of the document.

        A heading that starts at `offset` is part of the chunk and therefore left out.
        """
        number = bisect_left(self._offsets, offset)
        nearest = number - 1
        if number < len(self._offsets) and self._offsets[number] == offset:
            nearest = self._above[number]
        return self._down_to(nearest)

    def _down_to(self, nearest: int) -> tuple[str, ...]:
        """Titles of the heading of this number and of those above it."""
        titles = []
        while nearest >= 0:
            titles.append(self._headings[nearest].title)
            nearest = self._above[nearest]
        return tuple(title for title in reversed(titles) if title and title != self._title)

    def within(self, offset: int, body: str) -> Entries[tuple[str, ...]]:
        """The headings above the lines of the piece `body`, where they differ from those above its first line."""
        changes = Changes(self.at(offset))
        for number in range(bisect_left(self._offsets, offset), bisect_left(self._offsets, offset + len(body))):
            start = self._offsets[number] - offset
            line = body.count("\n", 0, start)
            begins_line = not body[body.rfind("\n", 0, start) + 1 : start].strip()
            if self._headings[number].title and begins_line:
                changes.add(line, self._down_to(self._above[number]))  # its own line shows it already
            if self._headings[number].title or not begins_line:
                line += 1  # an empty heading before the words of a line holds for this line
            if line <= body.count("\n"):
                changes.add(line, self._down_to(number))
        return tuple(changes.entries)


class _Lines:
    """Line numbers of offsets in ascending order, without a list of all line starts, which could take a gigabyte."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._numbers = document.line_numbers
        self._offset, self._line = 0, 1

    def at(self, offset: int) -> int:
        """The number of the line, from 1, that contains the character at `offset`."""
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = offset
        return self._numbers[self._line - 1] if self._numbers else self._line

    def within(self, offset: int, body: str) -> Entries[int]:
        """The numbers of the lines of the piece `body`, where they are not consecutive."""
        if not self._numbers:
            return ()
        first = self._line - 1 - self._text.count("\n", offset, self._offset)
        lines = body.rstrip().split("\n")
        return numbered(self._numbers[first : first + len(lines)], lines)


class Places:
    """The headings, lines, pages and anchors of offsets in ascending order."""

    def __init__(self, document: Document) -> None:
        self.trails = Trails(document)
        self._lines = _Lines(document) if document.has_lines else None
        # The line of a record, whose own lines are not those of its file
        self.of_record = () if document.has_lines else tuple((0, number) for number in document.line_numbers)
        self._pages = document.pages
        self._inlines, self._length = document.inlines, len(document.text)
        self._inline_offsets = [inline.offset for inline in document.inlines]
        self._anchors = document.anchors
        self._anchor_offsets = [anchor.offset for anchor in document.anchors]

    def lines(self, offset: int, body: str) -> tuple[int, int] | tuple[None, None]:
        """The first and the last line of a piece; None if the document has no lines."""
        if self._lines is None:
            return None, None
        return self._lines.at(offset), self._lines.at(offset + max(0, len(body.rstrip()) - 1))

    def within(self, offset: int, body: str) -> LinePlaces:
        """The places of the lines of a piece, where they differ from its first. Call `lines` with the piece before."""
        return LinePlaces(
            self.trails.within(offset, body),
            self._anchors_within(offset, body),
            self.of_record if self._lines is None else self._lines.within(offset, body),
        )

    def inlines(self, offset: int, body: str) -> tuple[Inline, ...]:
        """The inline elements of a piece, with their offsets in it. One below all words belongs to the last piece."""
        end = offset + len(body)
        first = bisect_left(self._inline_offsets, offset)
        last = bisect_left(self._inline_offsets, end + (end == self._length))
        own = self._inlines[first : min(last, first + MAX_ENTRIES)]
        return tuple(
            one._replace(offset=one.offset - offset, words=one.words[: min(MAX_WORDS, end - one.offset)].rstrip("\\"))
            for one in own
        )

    def page(self, offset: int) -> int | None:
        """The page that contains the character at `offset`, from 1; None if the document has no pages."""
        return bisect_right(self._pages, offset) if self._pages else None

    def anchor(self, offset: int) -> str | None:
        """The name of the last anchor at or above `offset`; None if there is none."""
        number = bisect_right(self._anchor_offsets, offset)
        return self._anchors[number - 1].name if number else None

    def _anchors_within(self, offset: int, body: str) -> Entries[str]:
        """The anchors at or above the start of each line of a piece, except its first line."""
        first = bisect_right(self._anchor_offsets, offset)
        changes = Changes(self.anchor(offset))
        for anchor in self._anchors[first : bisect_left(self._anchor_offsets, offset + len(body))]:
            start = anchor.offset - offset
            before = body[body.rfind("\n", 0, start) + 1 : start]  # such as the mark of a list item
            line = body.count("\n", 0, start) + any(map(str.isalnum, before))
            if line <= body.count("\n"):
                changes.add(line, anchor.name)
        return tuple(changes.entries)

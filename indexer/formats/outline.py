"""Write structured data as indented lines, each with its line in the file, and the path of keys as headings."""

from dataclasses import replace

from indexer.formats.format import MAX_TITLE, Document, Heading, OpenFile, UnreadableError

MAX_DEPTH = 250  # of nested values
MAX_VALUES = 3_000_000  # of values, or of XML elements
SHOWN_DEPTH = 8  # deeper levels are not indented further and get no headings, which every chunk stores


class Outline:
    """The lines and headings of a document that is being written."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._numbers: list[int] = []
        self._headings: list[Heading] = []
        self._begun = 0  # headings whose first line is written
        self._size = 0  # characters of the text so far, with the end of its last line

    def line(self, text: str, number: int, depth: int = 0, *, is_spread: bool = False) -> None:
        """Add `text`, which stands on line `number` of the file, or with `is_spread` begins there."""
        indent = "  " * min(depth, SHOWN_DEPTH)
        for offset, part in enumerate(text.split("\n")):
            line = (indent + part).rstrip() if part else ""
            # The new headings begin where the words of the line do, because a chunk begins with a word.
            start = self._size + len(line) - len(line.lstrip())
            for at in range(self._begun, len(self._headings)):
                self._headings[at] = replace(self._headings[at], offset=start)
            self._begun = len(self._headings)
            self._lines.append(line)
            self._numbers.append(number + offset if is_spread else number)
            self._size += len(line) + 1

    def blank(self, number: int) -> None:
        """Add a blank line, which separates units that stay whole in a chunk, unless there is one already."""
        if self._lines and self._lines[-1]:
            self.line("", number)

    def heading(self, level: int, title: str) -> None:
        """Begin a heading at the next line, unless it is nested too deep."""
        if level <= SHOWN_DEPTH:
            self._headings.append(Heading(self._size, level, title[:MAX_TITLE]))

    def document(self, file: OpenFile, title: str = "") -> Document:
        """The document of all lines."""
        headings, numbers = tuple(self._headings), tuple(self._numbers)
        text = "\n".join(self._lines)
        return Document.of(file, title, text, headings=headings, has_lines=True, line_numbers=numbers)


def check_depth(depth: int, kind: str) -> None:
    """Raise UnreadableError for a file that is nested deeper than people write."""
    if depth > MAX_DEPTH:
        raise UnreadableError(f"{kind} nested deeper than {MAX_DEPTH} levels")

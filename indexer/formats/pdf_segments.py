"""Read the text of a PDF page as segments: runs of words in a line without a wide gap, each with its position."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from ctypes import byref, c_double, c_int, create_string_buffer
from math import hypot
from typing import Any, NamedTuple

HYPHEN = "\ufffe"  # by which pdfium replaces a hyphen at the end of a line, and the end of the line
WIDE_GAP = 0.9  # times the font size; words in justified text are nearer to each other
MAX_CHARACTERS = 20_000  # of a page whose layout is read; a page of a newspaper has 10,000

_LINE = re.compile(rf"[^\r\n{HYPHEN}]+{HYPHEN}?")
_WORD = re.compile(r"\S+")
_FIXED_PITCH = re.compile(rb"mono|cour|cmtt|cmsltt|consol|menlo|typewriter|code", re.IGNORECASE)

# Also the names that the fonts of TeX and the free versions of Times and Palatino have.
_BOLD = re.compile(rb"bold|black|heavy|demi|(?:CM|SF|EC)\w*BX|[,-]Bd|-Medi\b|-Medi(?:Ital)?$|^LM\w*-bx", re.IGNORECASE)


class Segment(NamedTuple):
    """Words in one line; lengths are in points, and y grows upwards."""

    text: str
    left: float
    right: float
    y: float  # of the baseline
    size: float  # of the font
    is_bold: bool = False  # whether its first and its last word are in a bold font


def segments_of(page: Any, text_page: Any) -> list[Segment] | None:
    """The segments of a page in the order of its content; None if its layout is not read.

    That is so for rotated pages, and for pages with more than MAX_CHARACTERS. Text outside the page is left out.
    """
    text = text_page.get_text_range()
    if page.get_rotation() or len(text) > MAX_CHARACTERS:
        return None
    left, bottom, right, top = page.get_bbox()
    boxes = _Boxes(text_page, text)
    lines = ([found.span() for found in _WORD.finditer(text, *line.span())] for line in _LINE.finditer(text))
    return [
        segment
        for words in lines
        if words
        for segment in _line_segments(text, words, boxes)
        if left <= (segment.left + segment.right) / 2 <= right and bottom <= segment.y + segment.size / 2 <= top
    ]


def _line_segments(text: str, words: list[tuple[int, int]], boxes: "_Boxes") -> Iterator[Segment]:
    """The segments of one line, whose words have these starts and ends in the text of the page."""
    y, size = boxes.baseline(words[len(words) // 2][0])
    edges = boxes.edges(words)
    runs = [[0]]
    for number in range(1, len(words)):
        gap = edges[number][0] - edges[number - 1][1]
        if gap > WIDE_GAP * size or gap < -size:
            runs.append([])
        runs[-1].append(number)
    if len(runs) > 1 and boxes.is_fixed_pitch(words[0][0]):  # gaps in code align comments
        runs = [[number for run in runs for number in run]]
    for run in runs:
        first, last = run[0], run[-1]
        shown = text[words[first][0] : words[last][1]]
        if len(runs) > 1:  # pdfium may return several short lines as one, so that each run has its own baseline
            y, size = boxes.baseline(words[run[len(run) // 2]][0])
        is_bold = boxes.is_bold(words[first][0]) and boxes.is_bold(words[last][1] - 1)
        yield Segment(shown, min(edges[n][0] for n in run), max(edges[n][1] for n in run), y, size, is_bold)


class _Boxes:
    """The positions of characters, by their offsets in the text of a page."""

    def __init__(self, text_page: Any, text: str) -> None:
        import pypdfium2.raw

        self._raw = pypdfium2.raw
        self._page = text_page.raw
        # pdfium counts in UTF-16, in which a character beyond U+FFFF has two units.
        self._wide = [] if text.isascii() else [n for n, character in enumerate(text) if character > "\uffff"]
        self._left, self._right, self._bottom, self._top = (c_double() for _ in range(4))
        self._x, self._y = c_double(), c_double()
        self._matrix = pypdfium2.raw.FS_MATRIX()
        self._box = tuple(map(byref, (self._left, self._right, self._bottom, self._top)))
        self._origin = byref(self._x), byref(self._y)
        self._flags = c_int()
        self._name = create_string_buffer(64)

    def _index(self, offset: int) -> int:
        return offset + bisect_left(self._wide, offset) if self._wide else offset

    def edges(self, words: list[tuple[int, int]]) -> list[tuple[float, float]]:
        """The left and the right edge of each word, which is given by its start and end."""
        read, page, box = self._raw.FPDFText_GetCharBox, self._page, self._box  # most of the time is spent here
        left, right = self._left, self._right
        found = []
        for start, end in words:
            read(page, self._index(start) if self._wide else start, *box)
            edge = left.value
            read(page, self._index(end - 1) if self._wide else end - 1, *box)
            found.append((edge, right.value))
        return found

    def baseline(self, offset: int) -> tuple[float, float]:
        """The y of the baseline of a character, and the size of its font on the page."""
        index = self._index(offset)
        self._raw.FPDFText_GetCharOrigin(self._page, index, *self._origin)
        self._raw.FPDFText_GetMatrix(self._page, index, byref(self._matrix))
        scale = hypot(self._matrix.c, self._matrix.d)
        return self._y.value, max(1.0, self._raw.FPDFText_GetFontSize(self._page, index) * scale)

    def is_fixed_pitch(self, offset: int) -> bool:
        """Whether all characters of the font have the same width, by what the file says of the font."""
        name, flags = self._font(offset)
        return bool(flags & 1) or bool(_FIXED_PITCH.search(name))

    def is_bold(self, offset: int) -> bool:
        """Whether the font is bold, by its name."""
        return bool(_BOLD.search(self._font(offset)[0]))

    def _font(self, offset: int) -> tuple[bytes, int]:
        """The name of the font of a character, and its flags."""
        self._raw.FPDFText_GetFontInfo(self._page, self._index(offset), self._name, len(self._name), byref(self._flags))
        return self._name.value, self._flags.value

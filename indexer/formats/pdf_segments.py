"""Read the text of a PDF page as segments: lines, or parts of lines with a wide gap between them, with their places.

pdfium returns all words of a line from right to left, or all from left to right, so that words of the other direction
are in the wrong order. In each word, the letters are in the order of reading already. Here all get this order.
"""

import re
from bisect import bisect_left
from ctypes import byref, c_double, c_int, create_string_buffer
from itertools import groupby, pairwise
from math import hypot, pi
from typing import Any, NamedTuple, Self
from unicodedata import bidirectional

from indexer.formats.format import NOTE_MARK

_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"  # Hebrew, Arabic and their neighbours
RIGHT_WORD = re.compile(f"[{_FROM_RIGHT}]+")
RIGHT_WORD_OR_SIGNS = re.compile(rf"[{_FROM_RIGHT}]+|(?<=[{_FROM_RIGHT}])[^\w.,:/+#$%\-{_FROM_RIGHT}]{{2,}}")
_LEFT_WORD = re.compile(rf"[^\W\d_{_FROM_RIGHT}]+")
_RIGHT_RUN = re.compile(rf"[{_FROM_RIGHT}](?:[\W\d_{_FROM_RIGHT}]*[{_FROM_RIGHT}])?")
_LEFT_RUN = re.compile(rf"[^\W{_FROM_RIGHT}](?:[^{_FROM_RIGHT}]*[^\W{_FROM_RIGHT}])?")
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*%?|[{_FROM_RIGHT}]+|[^\W\d_{_FROM_RIGHT}]+|.", re.DOTALL)
_PAIR, _BRACKET, MOST_BRACKETED = re.compile(r"\([^()]*\)"), re.compile(r"[()]"), 50  # lines that are compared
_KINDS = {"L": "left"} | dict.fromkeys(("AN", "EN", "NSM", "CS", "ES", "ET", "BN"), "part of a number")
_MIRRORED = str.maketrans("()[]{}", ")(][}{")


class Direction(NamedTuple):
    """How the lines of a page run that has words from right to left."""

    is_from_right: bool  # whether most words do so
    is_reversed: bool  # whether pdfium returns all lines from right to left
    is_by_looks: bool  # whether the file names brackets by their looks, and not by whether they open or close

    @classmethod
    def of(cls, text: str, *, is_reversed: bool) -> Self | None:
        """The direction of a page by its text; None for a page without words from right to left."""
        if not is_reversed and (text.isascii() or not RIGHT_WORD.search(text)):
            return None
        is_from_right = len(RIGHT_WORD.findall(text)) > len(_LEFT_WORD.findall(text))
        bracketed = [line for line in text.splitlines() if "(" in line or ")" in line][:MOST_BRACKETED]
        return max(
            (cls(is_from_right, is_reversed, is_by_looks) for is_by_looks in (True, False)),
            key=lambda one: sum(not _BRACKET.search(_PAIR.sub("", one.logical(line))) for line in bracketed),
        )

    def logical(self, line: str, *, is_at_left: bool = False) -> str:
        """The line in the order of reading; `is_at_left` if it stands at the left margin and is short."""
        n_right, n_left = len(RIGHT_WORD.findall(line)), len(_LEFT_WORD.findall(line))
        seen = _seen(line, is_reversed=self.is_reversed or n_right > n_left)
        begins_left = is_at_left and _kind(seen.lstrip()[:1] or " ") == "left"
        if not (self.is_from_right or (n_right > n_left and not begins_left)):
            return _RIGHT_RUN.sub(lambda run: self._turned(run[0]), seen)
        pieces, end = [], 0
        for run in _LEFT_RUN.finditer(seen):
            if any(map(str.isalpha, run[0])):
                start, stop, missing = *run.span(), run[0].count("(") - run[0].count(")")
                start -= missing < 0 and seen[:start].endswith("(")
                stop += missing > 0 and seen.startswith(")", stop)
                pieces += [self._turned(seen[end:start]), seen[start:stop]]
                end = stop
        return "".join(reversed([*pieces, self._turned(seen[end:])]))

    def _turned(self, text: str) -> str:
        turned = "".join(reversed(_TOKEN.findall(text)))
        return turned.translate(_MIRRORED) if self.is_by_looks else turned


def _seen(line: str, *, is_reversed: bool) -> str:
    """The words and signs as they are printed, from left to right; `is_reversed` if pdfium returns this line so.

    After a word from right to left, pdfium turns signs and blanks, and mirrors brackets.
    """
    seen, is_right = list[str](), is_reversed
    for kind, letters in groupby(line, _kind):
        token = "".join(letters)
        if kind == "sign" and is_right:
            token = token[::-1].translate(_MIRRORED)
        elif kind in ("right", "left"):
            is_right = kind == "right"
        seen.append(token)
    return "".join(reversed(seen) if is_reversed else seen)


def _kind(letter: str) -> str:
    return "right" if RIGHT_WORD.match(letter) else _KINDS.get(bidirectional(letter), "sign")


HYPHEN = "\ufffe"  # by which pdfium replaces a hyphen at the end of a line, and the end of the line
SOFT_HYPHEN = "\u00ad"  # it is a line of its own in narrow columns of some files
WIDE_GAP = 0.9  # times the font size; most words in justified text are nearer to each other
N_SAMPLED, MIN_GAPS = 8, 3  # lines of a page are divided at wide gaps if so many of the sampled lines have one

_LINE = re.compile(rf"[^\s{HYPHEN}](?:[^\r\n{HYPHEN}]*[^\s{HYPHEN}])?{HYPHEN}?")
_MARK = re.compile(r"\d{1,3}(?=[^\W\d_])")  # of a footnote
_PAGE_NUMBER = re.compile(r"\S*\d|[ivxlc]+")
_BLANKS = re.compile(r"\s+")
# Of fonts without names for their characters, as LaTeX makes, pdfium returns the codes of ff, fi, fl, ffi and ffl.
_LIGATURE = re.compile(r"[\x1b-\x1f](?:(?=[^\W\d_])|(?<=[^\W\d_].))")
_ALEFS, _LAM = "\u0627\u0623\u0625\u0622", "\u0644"

# Also the names that the fonts of TeX and the free versions of Times and Palatino have.
_BOLD = re.compile(rb"bold|black|heavy|demi|(?:CM|SF|EC)\w*BX|[,-]Bd|-Medi\b|-Medi(?:Ital)?$|^LM\w*-bx", re.IGNORECASE)

_Span = tuple[int, int]  # of a line or a part of it, in the text of the page


class Segment(NamedTuple):
    """Words in one line; lengths are in points, x is along the line, and y grows upwards."""

    text: str
    left: float
    right: float
    y: float  # of the baseline
    size: float  # of the font
    is_bold: bool = False  # whether its first and its last word are in a bold font
    begins: bool = False  # whether a paragraph begins here
    is_apart: bool = False  # whether it begins or ends with a number that a wide gap separates


def segments_of(page: Any, *, is_reversed: bool, is_turned: bool = False) -> list[Segment]:
    """The segments of a page in the order of its content. Text outside the page is left out.

    pdfium returns the words of all lines in reverse if `is_reversed`, else only those of lines from right to left. Of a
    page that is shown `is_turned`, width and height may be exchanged, as by ReportLab.
    """
    text_page = page.get_textpage()  # which is closed with the page
    text = _LIGATURE.sub(lambda code: chr(ord(code[0]) - 0x1B + 0xFB00), text_page.get_text_range())
    direction = Direction.of(text, is_reversed=is_reversed)
    left, bottom, right, top = page.get_bbox()
    if is_turned:
        right, top = left + max(right - left, top - bottom), bottom + max(right - left, top - bottom)
    places = _Places(text_page, text, (left, bottom, right, top))
    lines = [found.span() for found in _LINE.finditer(text)]
    sampled = lines[:: 1 + len(lines) // N_SAMPLED] if direction is None else []
    has_gaps = sum(len(places.runs(line)) > 1 for line in sampled) >= MIN_GAPS
    segments: list[Segment] = []
    for line in lines:
        for span in places.runs(line) if has_gaps else [line]:
            segment = places.segment(span)
            if segment is not None and segment.text == SOFT_HYPHEN and segments:
                segments[-1] = segments[-1]._replace(text=segments[-1].text + HYPHEN)
            elif segment is not None:
                if direction is not None:
                    is_at_left = segment.left - left + 2 * segment.size < right - segment.right
                    shown = direction.logical(places.ordered(span), is_at_left=is_at_left)
                    segment = segment._replace(text=shown)
                elif places.has_number_apart(span):
                    segment = segment._replace(is_apart=True)
                segments.append(segment)
    return segments


class _Places:
    """The places of the characters of a page, by their offsets in its text."""

    def __init__(self, text_page: Any, text: str, page_box: tuple[float, float, float, float]) -> None:
        import pypdfium2.raw

        self._raw = pypdfium2.raw
        self._page = text_page.raw
        self._text = text
        self._page_box = page_box
        # pdfium counts in UTF-16, in which a character beyond U+FFFF has two units.
        self._wide = [] if text.isascii() else [n for n, character in enumerate(text) if character > "\uffff"]
        self._numbers = [c_double() for _ in range(4)]
        self._references = [byref(number) for number in self._numbers]
        self._matrix, self._flags, self._name = pypdfium2.raw.FS_MATRIX(), c_int(), create_string_buffer(64)
        self._turns, self._y, self._size = 0, 0.0, 1.0

    def _index(self, offset: int) -> int:
        return offset + bisect_left(self._wide, offset) if self._wide else offset

    def _move_to(self, span: _Span) -> bool:
        """Read direction, baseline and font size of a line, and whether it is on the page."""
        middle = sum(span) // 2
        while self._text[middle].isspace():
            middle -= 1
        index = self._index(middle)
        self._raw.FPDFText_GetCharOrigin(self._page, index, *self._references[:2])
        x, y = self._numbers[0].value, self._numbers[1].value
        self._raw.FPDFText_GetMatrix(self._page, index, byref(self._matrix))
        scale = hypot(self._matrix.c, self._matrix.d)
        self._size = max(1.0, self._font_size(middle) * scale)
        self._turns = round(self._raw.FPDFText_GetCharAngle(self._page, index) / (pi / 2)) % 4
        self._y = (y, x, -y, -x)[self._turns]
        left, bottom, right, top = self._page_box
        return left <= x <= right and bottom <= y <= top

    def _edges(self, offset: int) -> tuple[float, float]:
        """Where a character begins and ends along its line."""
        self._raw.FPDFText_GetCharBox(self._page, self._index(offset), *self._references)
        left, right, bottom, top = self._numbers
        if self._turns % 2 == 0:
            return (left.value, right.value) if self._turns == 0 else (-right.value, -left.value)
        return (-top.value, -bottom.value) if self._turns == 1 else (bottom.value, top.value)

    def runs(self, line: _Span) -> list[_Span]:
        """The parts of a line that wide gaps divide."""
        self._move_to(line)
        start, end = line
        found = []
        for blanks in _BLANKS.finditer(self._text, start, end):
            if self._is_wide(blanks.span()):
                found.append((start, blanks.start()))
                start = blanks.end()
        return [*found, (start, end)]

    def has_number_apart(self, line: _Span) -> bool:
        """Whether a wide gap is after a number at the begin of a line, or before one at its end."""
        first, last = self._text.find(" ", *line), self._text.rfind(" ", *line)
        words = (first, (line[0], first)), (last, (last + 1, line[1]))
        return first >= 0 and any(
            _PAGE_NUMBER.fullmatch(self._text, *word) and self._is_wide((blank, blank + 1)) for blank, word in words
        )

    def _is_wide(self, blanks: _Span) -> bool:
        """Whether blanks in a line are a wide gap, or lead back in it."""
        gap = self._edges(blanks[1])[0] - self._edges(blanks[0] - 1)[1]
        return gap > WIDE_GAP * self._size or gap < -self._size

    def segment(self, span: _Span) -> Segment | None:
        """The text with its place; None if it is outside the page."""
        if not self._move_to(span):
            return None
        first, last = span[0], span[1] - 1
        edges = *self._edges(first), *self._edges(last)
        is_bold = self._is_bold(first) and self._is_bold(last)
        text = self._text[slice(*span)]
        # A raised number would be a part of the word before it, or of the first word of the note.
        text = NOTE_MARK.sub(
            lambda mark: " " * self._is_raised(first + mark.start(), first + mark.start() - 1) + mark[0], text
        )
        if (mark := _MARK.match(text)) and self._is_raised(first, first + mark.end()):
            text = f"{mark[0]} {text[mark.end() :]}"
        return Segment(text, min(edges), max(edges), self._y, self._size, is_bold)

    def _is_raised(self, mark: int, letter: int) -> bool:
        """Whether a number has a smaller font than a letter beside it, and is not below it as in a formula."""
        return self._font_size(mark) < self._font_size(letter) and self._height(mark) >= self._height(letter)

    def _height(self, offset: int) -> float:
        self._raw.FPDFText_GetCharOrigin(self._page, self._index(offset), *self._references[:2])
        x, y = self._numbers[0].value, self._numbers[1].value
        return (y, x, -y, -x)[self._turns]

    def _font_size(self, offset: int) -> float:
        return float(self._raw.FPDFText_GetFontSize(self._page, self._index(offset)))

    def ordered(self, span: _Span) -> str:
        """The text, with the letters of words from right to left, and the signs after them, in the order of reading.

        pdfium returns those that stand for a text of their own, as browsers print Arabic, from left to right.
        """
        return RIGHT_WORD_OR_SIGNS.sub(
            lambda word: self._ordered_word(word[0], span[0] + word.start()), self._text[slice(*span)]
        )

    def _ordered_word(self, word: str, start: int) -> str:
        """A word that begins at an offset in the text; lam comes before the alef with which it shares a sign."""
        edges = [self._edges(offset) for offset in range(start, start + len(word))]
        if sum(edges[0]) < sum(edges[-1]):
            word, edges = word[::-1], edges[::-1]
        for n, (one, other) in enumerate(pairwise(edges)):
            if one == other and word[n] in _ALEFS and word[n + 1] == _LAM:
                word = word[:n] + word[n + 1] + word[n] + word[n + 2 :]
        return word

    def _is_bold(self, offset: int) -> bool:
        index = self._index(offset)
        self._raw.FPDFText_GetFontInfo(self._page, index, self._name, len(self._name), byref(self._flags))
        return bool(_BOLD.search(self._name.value))

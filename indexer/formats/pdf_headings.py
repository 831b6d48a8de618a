"""Recognise the headings of a PDF page: by the outline of the document, by large print, and by bold print."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from indexer.formats.format import MAX_TITLE, Heading
from indexer.formats.pdf_layout import CAPTION, LEADERS
from indexer.formats.pdf_segments import Segment

MAX_ENTRIES = 50_000  # of the outline
MAX_LEVEL = 6
LARGE = 1.15  # times the size of the text: the smallest size of a heading in large print
SAME_SIZE = 1.03  # ratio of the font sizes of the lines of a heading
MAX_DISTANCE = 2.0  # times the font size, between the lines of a heading
MAX_ROWS = 4  # more large rows are a text in large print
MAX_BOLD_ROWS, MAX_BOLD_CHARACTERS = 2, 120  # a longer text in bold print is emphasised
MIN_LETTERS = 2
WIDE = 0.85  # times the font size: letters take less in the mean, unless a row has cells or ends with a page number
MAX_NUMBER = 12  # letters before a title, such as "Chapter"; the outline may leave them out

Outline = Mapping[int, Sequence[tuple[str, int]]]  # for a page from 0: the letters of its titles, and their levels

_LABEL = re.compile(r"(?:note|tip|warning|caution|important|danger|hint)s?\W*", re.IGNORECASE)  # of a paragraph
_CONTINUES = re.compile(r"[,;]$|\b(?:and|or|of|the|to|with|for)$")  # the end of a line that is not a heading


class Found(NamedTuple):
    """A heading before its level is known."""

    size: float  # of the font
    is_bold: bool = False  # in the size of the text, which ranks below all sizes of large print
    level: int | None = None  # by the outline
    number: int = -1  # of the entry of the outline, or of the row in bold print
    offset: int = 0  # in the text of the document
    title: str = ""


def outline_of(pdf: Any) -> Outline:
    """The titles and levels in the outline of a document, by their pages."""
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for entry in islice(pdf.get_toc(), MAX_ENTRIES):
        target = entry.get_dest()
        try:
            letters = _letters(entry.get_title())
        except UnicodeDecodeError:  # the title is damaged
            continue
        if target is not None and letters:
            found[target.get_index()].append((letters, min(MAX_LEVEL, entry.level + 1)))
    return found


def rounded(size: float) -> float:
    """A font size without the small differences by which a file scales the same font."""
    return round(2 * size) / 2


def found_headings(
    rows: Sequence[Segment], body_size: float, outline: Outline, page: int
) -> Iterator[tuple[Sequence[Segment], Found | None]]:
    """The rows of a page, which is counted from 0, divided into headings and the text between them.

    `body_size` is the size of the text. Bold print counts only in a document without an outline.
    """
    marks = _in_outline(rows, outline.get(page, ()))
    for number, row in enumerate(rows):
        if number not in marks and row.size >= LARGE * body_size:
            marks[number] = Found(row.size)
    if not outline:
        _mark_bold(rows, body_size, marks)
    start = 0
    for end in range(1, len(rows) + 1):
        mark = marks.get(start)
        if end == len(rows) or not _are_one(mark, marks.get(end), rows[end - 1].y - rows[end].y):
            block = rows[start:end]
            yield block, mark if mark is not None and _can_be_heading(block, mark) else None
            start = end


def levelled(headings: Sequence[Found]) -> tuple[Heading, ...]:
    """The headings with their levels: those of the outline, or else the larger the font, the lower the level."""
    kinds = [(-rounded(one.size), one.is_bold) for one in headings]
    ranks = sorted(set(kinds))
    outlined: dict[tuple[float, bool], int] = {}  # the deepest level of the outline for each kind of print
    for one, kind in zip(headings, kinds, strict=True):
        if one.level is not None:
            outlined[kind] = max(one.level, outlined.get(kind, 0))
    found = []
    for one, kind in zip(headings, kinds, strict=True):
        above = max((level for other, level in outlined.items() if other < kind), default=0)
        level = one.level or 1 + (above if outlined else bisect_left(ranks, kind))
        found.append(Heading(one.offset, min(MAX_LEVEL, level), one.title[:MAX_TITLE]))
    return tuple(found)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text)).casefold()


def _in_outline(rows: Sequence[Segment], titles: Sequence[tuple[str, int]]) -> dict[int, Found]:
    """Marks of the rows that have a title of the outline; a title may take several rows."""
    marks: dict[int, Found] = {}
    open_titles = list(enumerate(titles))
    for start, row in enumerate(rows):
        if start in marks or not open_titles or not row.begins:
            continue
        letters, size = "", 0.0
        for end in range(start, min(start + MAX_ROWS, len(rows))):
            letters += _letters(rows[end].text)
            size = max(size, rows[end].size)
            # The letters of the rows are those of a title, perhaps after a number such as "Chapter 1" or "A.1".
            ends = (one for one in open_titles if letters.endswith(one[1][0]))
            fits = (one for one in ends if len(letters) - len(one[1][0]) <= min(MAX_NUMBER, len(one[1][0])))
            entry = next(fits, None)
            if entry is not None:
                number, (_, level) = entry
                marks.update((n, Found(size, row.is_bold, level, number)) for n in range(start, end + 1))
                open_titles.remove(entry)
                break
    return marks


def _mark_bold(rows: Sequence[Segment], body_size: float, marks: dict[int, Found]) -> None:
    """Mark bold paragraphs of a row or two in the size of the text, with other text below them."""
    for number, row in enumerate(rows):
        if not row.is_bold or not row.begins or number in marks:
            continue
        followers = range(number + 1, len(rows))
        end = next((n for n in followers if not rows[n].is_bold or rows[n].begins or n in marks), len(rows))
        text = " ".join(row.text for row in rows[number:end])
        is_above = end < len(rows) and not rows[end].is_bold and rows[end].y < row.y
        is_short = end - number <= MAX_BOLD_ROWS and len(text) <= MAX_BOLD_CHARACTERS
        if is_short and is_above and row.size >= body_size / SAME_SIZE and not _CONTINUES.search(text):
            marks.update((one, Found(row.size, is_bold=True, number=number)) for one in range(number, end))


def _are_one(mark: Found | None, following: Found | None, distance: float) -> bool:
    """Whether a row belongs to the block of the row above it, at this distance in points."""
    if mark is None or following is None:
        return mark is following
    if mark.level is None and not 0 < distance <= MAX_DISTANCE * mark.size:
        return False
    is_same = (mark.is_bold, mark.level, mark.number) == (following.is_bold, following.level, following.number)
    return is_same and mark.size / following.size < SAME_SIZE and following.size / mark.size < SAME_SIZE


def _can_be_heading(rows: Sequence[Segment], mark: Found) -> bool:
    if mark.level is not None:
        return True
    text = "".join(row.text for row in rows)
    is_listed = f"{LEADERS} " in text or any(row.right - row.left > WIDE * row.size * len(row.text) for row in rows)
    if is_listed or _LABEL.fullmatch(text) or CAPTION.match(text):
        return False
    return len(rows) <= MAX_ROWS and sum(map(str.isalpha, text)) >= MIN_LETTERS

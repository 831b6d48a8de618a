"""Arrange the segments of PDF pages: without what pages repeat, in columns, lines and paragraphs.

pdfium returns text in the order in which the file draws it. That is nearly always the order of reading, so it is kept
unless the file draws each line across all columns, or draws up and down the page.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from indexer.formats.pdf_segments import HYPHEN, Segment

MIN_LINES = 4  # in each column
MAX_GUTTERS = 3
MIN_WIDTH = 0.15  # of a column, as a share of the width of the text
MIN_ALIGNED = 0.2  # of the lines of a page: so many begin at the left edge of a column
FEW_SWITCHES = 0.3  # of the lines of a column: a file that draws column by column seldom goes from one to the other
PROSE_CHARACTERS, PROSE_WIDTH = 25, 0.7  # of the lines of a column: a table has shorter cells
FEW_RISES = 0.25  # of all segments: a file that draws in the order of reading seldom goes up the page
SAME_LINE = 0.4  # times the font size: the baselines of the segments of a line differ at most by this
NEW_PARAGRAPH = 1.3  # times the usual distance of lines
OTHER_SIZE = 1.1  # ratio of font sizes
INDENT = 0.8, 4.0  # times the font size: how far the first line of a paragraph is indented

N_OUTER = 3  # rows at the top of a page, and as many at the bottom, that can be headers or footers
MIN_PAGES = 3  # a row at the same height of so many pages is a header or a footer

LEADERS = " ..."  # instead of many dots in a table of contents

CAPTION = re.compile(r"(?:figure|fig\.|table|listing|algorithm|abbildung|abb\.|tabelle)\s*[A-Z]?\d", re.IGNORECASE)
COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_DIVIDED = re.compile(rf"\w{HYPHEN}$")
_LEADERS = re.compile(r"(?:\s?\.){5,}")
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)

_Key = tuple[int, str]  # the height in points, and the text with each number replaced


class Row(NamedTuple):
    """A line of text; lengths are in points, and y grows upwards."""

    text: str
    left: float
    right: float
    y: float  # of the baseline
    size: float  # of the font
    begins: bool  # whether a paragraph begins here
    is_bold: bool


def rows_of(segments: Sequence[Segment]) -> list[Row]:
    """The rows of a page in the order of reading."""
    return [row for region in _regions(segments) for row in _rows(region)]


def _regions(segments: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
    """The columns of a page, and the text between columns, each as segments in the order of reading."""
    gutters = _gutters(segments)
    if not gutters:
        yield _in_order(segments)
        return
    # The columns above and below a line that crosses a gutter are read one after the other.
    ordered = sorted(segments, key=lambda one: (-one.y, one.left))
    for crosses, band in groupby(ordered, key=lambda one: any(one.left < x < one.right for x in gutters)):
        if crosses:
            yield list(band)
        else:
            yield from _columns(list(band), gutters)


def _columns(segments: Sequence[Segment], gutters: Sequence[float]) -> list[list[Segment]]:
    """The segments of each column that has any."""
    numbers = [bisect_right(gutters, one.left) for one in segments]
    return [[one for one, n in zip(segments, numbers, strict=True) if n == column] for column in sorted({*numbers})]


def _gutters(segments: Sequence[Segment]) -> list[float]:
    """The x between columns that the file draws line by line, from left to right; none if there are no such columns.

    A gutter is just before an edge where many segments begin.
    """
    if len(segments) < 2 * MIN_LINES:
        return []
    left, right = min(one.left for one in segments), max(one.right for one in segments)
    margin = MIN_WIDTH * (right - left)
    edges = Counter(round(one.left / 4) for one in segments if left + margin < one.left < right - margin)
    n_aligned = max(MIN_LINES, MIN_ALIGNED * len({round(one.y) for one in segments}))
    gutters: list[float] = []
    for edge, count in edges.most_common(2 * MAX_GUTTERS):
        if count >= n_aligned and all(abs(4 * edge - 4 - x) > margin for x in gutters):
            gutters.append(4 * edge - 4)
    gutters = sorted(gutters[:MAX_GUTTERS])
    inside = [one for one in segments if not any(one.left < x < one.right for x in gutters)]
    columns = _columns(inside, gutters)
    sides = [bisect_right(gutters, one.left) for one in inside]
    n_switches = sum(one != other for one, other in pairwise(sides))
    if len(columns) < 2 or n_switches <= FEW_SWITCHES * min(map(len, columns)):
        return []
    return gutters if all(map(_is_prose, columns)) else []


def _is_prose(column: Sequence[Segment]) -> bool:
    lines = [list(line) for _, line in groupby(sorted(column, key=lambda one: one.y), key=lambda one: round(one.y))]
    ends = [(min(one.left for one in line), max(one.right for one in line)) for line in lines]
    width = max(right for _, right in ends) - min(left for left, _ in ends)
    n_characters = median(sum(len(one.text) for one in line) for line in lines)
    return n_characters >= PROSE_CHARACTERS and median(right - left for left, right in ends) >= PROSE_WIDTH * width


def _in_order(segments: Sequence[Segment]) -> Sequence[Segment]:
    """The segments in the order of the file, or from the top to the bottom if the file draws up and down the page."""
    n_rises = sum(after.y > one.y + one.size for one, after in pairwise(segments))
    return segments if n_rises <= FEW_RISES * len(segments) else sorted(segments, key=lambda one: (-one.y, one.left))


def _rows(region: Sequence[Segment]) -> list[Row]:
    lines: list[list[Segment]] = []
    for segment in region:
        if lines and abs(segment.y - lines[-1][0].y) <= SAME_LINE * max(segment.size, lines[-1][0].size):
            lines[-1].append(segment)
        else:
            lines.append([segment])
    return _with_paragraphs([_row(sorted(line, key=lambda one: one.left)) for line in lines])


def _row(line: Sequence[Segment]) -> Row:
    text = " ".join(segment.text for segment in line)
    if "..." in text or ". ." in text:
        text = _LEADERS.sub(LEADERS, text)
    size = max(line, key=lambda one: len(one.text)).size
    right = max(segment.right for segment in line)
    is_bold = all(segment.is_bold for segment in line)
    return Row(text, line[0].left, right, line[0].y, size, begins=False, is_bold=is_bold)


def _with_paragraphs(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a mark on those that begin a paragraph."""
    if not rows:
        return []
    distances = [one.y - below.y for one, below in pairwise(rows) if one.y > below.y]
    usual = median(distances) if distances else 0.0
    left = min(row.left for row in rows)
    marked = [rows[0]._replace(begins=True)]
    for number in range(1, len(rows)):
        above, row = rows[number - 1], rows[number]
        distance = above.y - row.y
        begins = (
            not 0 < distance <= NEW_PARAGRAPH * max(usual, row.size)
            or not row.size / OTHER_SIZE < above.size < row.size * OTHER_SIZE
            or row.is_bold != above.is_bold
            or bool(CAPTION.match(row.text))
            or _is_indented(above, row, rows[number + 1 : number + 2], left)
        )
        marked.append(row._replace(begins=begins))
    return marked


def _is_indented(above: Row, row: Row, below: Sequence[Row], left: float) -> bool:
    """Whether only this row is indented, as the first one of a paragraph."""
    least, most = INDENT[0] * row.size, INDENT[1] * row.size
    return (
        least <= row.left - left <= most
        and row.left - above.left >= least
        and bool(below)
        and row.left - below[0].left >= least
    )


def text_of(rows: Sequence[Row], compounds: Set[str] = frozenset()) -> str:
    """The text of rows, with an empty line before each paragraph, and without hyphens at the ends of lines.

    `compounds` are words in lower case that keep their hyphens.
    """
    parts: list[str] = []
    for row in rows:
        if parts and _DIVIDED.search(parts[-1]):
            parts[-1] = parts[-1][:-1] + _hyphen(parts[-1][:-1], row.text, compounds)
        elif parts:
            parts.append("\n\n" if row.begins else "\n")
        parts.append(row.text)
    return "".join(parts).replace(HYPHEN, "-")


def _hyphen(line: str, following: str, compounds: Set[str]) -> str:
    """The hyphen in a word that has one at the end of a line; "" if the word has it only there."""
    is_word = following[:1].islower() or (following[:2].isupper() and line[-2:].isupper())
    word = COMPOUND.search(f"{line.rsplit(maxsplit=1)[-1]}-{following.split(maxsplit=1)[0]}")
    return "" if is_word and (word is None or word[0].lower() not in compounds) else "-"


def without_repeated(pages: Sequence[Sequence[Segment]], large: float) -> list[list[Segment]]:
    """The segments of neighbouring pages without headers and footers.

    A row in a font of at least the size `large` counts only if its numbers are repeated as well: it may be the heading
    of a chapter.
    """
    outer = [[_outer_rows(page, is_top=is_top) for is_top in (True, False)] for page in pages]
    counts = Counter(key for page in outer for key in {_key(row, large) for side in page for row in side})
    cleaned = []
    for page, sides in zip(pages, outer, strict=True):
        removed = {id(segment) for side in sides for row in _repeated(side, counts, large) for segment in row}
        cleaned.append([segment for segment in page if id(segment) not in removed])
    return cleaned


def _outer_rows(page: Sequence[Segment], *, is_top: bool) -> list[list[Segment]]:
    """The outermost rows, the outermost one first."""
    ordered = sorted(page, key=lambda one: (-one.y if is_top else one.y, one.left))
    rows: list[list[Segment]] = []
    for _, row in groupby(ordered, key=lambda one: round(one.y)):
        if len(rows) == N_OUTER:
            break
        rows.append(list(row))
    return rows


def _repeated(side: Sequence[list[Segment]], counts: "Counter[_Key]", large: float) -> Iterator[list[Segment]]:
    """The repeated rows from the edge of the page inwards, up to the first row that belongs to the text of the page."""
    for row in side:
        key = _key(row, large)
        if counts[key] < MIN_PAGES or not any(character.isalnum() or character == "#" for character in key[1]):
            return
        yield row


def _key(row: Sequence[Segment], large: float) -> _Key:
    text = " ".join(segment.text for segment in row)
    is_large = max(segment.size for segment in row) >= large
    return round(row[0].y), text if is_large else _NUMBER.sub("#", text)

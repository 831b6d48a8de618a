"""Arrange the segments of PDF pages: without what pages repeat, in columns, rows of tables, and paragraphs.

pdfium returns text in the order in which the file draws it. That is nearly always the order of reading, so it is kept
unless the page has columns, or the file draws up and down the page.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from indexer.formats.pdf_segments import HYPHEN, Segment

MAX_DEPTH = 3  # of columns in columns
MAX_SEGMENTS = 2_000  # of a page; in a page with more, columns are not detected
MAX_CELLS = 50  # of a row that are compared with its neighbour
MIN_LINES = 4  # in each of two columns, beside a line of the other one
MIN_WIDTH = 0.2  # of a column, as a share of the width of the text
FEW_SWITCHES = 0.3  # of the lines of a column: a file that draws column by column seldom goes from one to the other
PROSE_CHARACTERS, PROSE_WIDTH = 25, 0.6  # of the lines of a column that the file draws row by row: a table has cells
FEW_RISES = 0.25  # of all segments: a file that draws in the order of reading seldom goes up the page
SAME_LINE = 0.4  # times the font size: the baselines of a row differ at most by this
NEW_PARAGRAPH = 1.3  # times the usual distance of lines
OTHER_SIZE = 1.1  # ratio of font sizes
INDENT = 0.8, 4.0  # times the font size: how far the first line of a paragraph is indented
MAX_MARK = 3  # characters of a list marker or a number before a line

N_OUTER = 3  # rows at the top of a page, and as many at the bottom, that can be headers or footers
MIN_PAGES = 3  # a row at the same height of so many pages is a header or a footer

LEADERS = " ..."  # instead of many dots in a table of contents

CAPTION = re.compile(r"(?:figure|fig\.|table|listing|algorithm|abbildung|abb\.|tabelle)\s*[A-Z]?\d", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\s?\.){5,}")
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)

_Key = tuple[int, str]  # the height in points, and the text with each number replaced


class Row(NamedTuple):
    """A line of text, or a row of a table; lengths are in points, and y grows upwards."""

    text: str
    left: float
    right: float
    y: float  # of the baseline
    size: float  # of the font
    begins: bool  # whether a paragraph begins here
    is_bold: bool


def rows_of(segments: Sequence[Segment]) -> list[Row]:
    """The rows of a page in the order of reading."""
    return [row for region in _regions(segments, 0) for row in _rows(region)]


def _regions(segments: Sequence[Segment], depth: int) -> Iterator[Sequence[Segment]]:
    """The columns of a page, and the text between columns, each as segments in the order of reading."""
    x = _gutter(segments, depth)
    if x is None:
        yield _in_order(segments)
        return
    # The columns above and below a line that crosses the gutter are read one after the other.
    band: tuple[list[int], list[int]] = [], []
    crossing: list[int] = []
    for number in sorted(range(len(segments)), key=lambda n: -segments[n].y):
        segment = segments[number]
        if segment.left < x < segment.right:
            yield from _columns(segments, band, depth)
            band = [], []
            crossing.append(number)
        else:
            if crossing:
                yield _in_order([segments[n] for n in sorted(crossing)])
                crossing = []
            band[segment.left >= x].append(number)
    yield from _columns(segments, band, depth)
    if crossing:
        yield _in_order([segments[n] for n in sorted(crossing)])


def _columns(segments: Sequence[Segment], band: tuple[list[int], list[int]], depth: int) -> Iterator[Sequence[Segment]]:
    for side in band:
        if side:
            yield from _regions([segments[n] for n in sorted(side)], depth + 1)


def _gutter(segments: Sequence[Segment], depth: int) -> float | None:
    """The x between two columns, which is just before an edge where many segments begin; None if there are none."""
    if depth == MAX_DEPTH or not 2 * MIN_LINES <= len(segments) <= MAX_SEGMENTS:
        return None
    left, right = min(one.left for one in segments), max(one.right for one in segments)
    margin = MIN_WIDTH * (right - left)
    edges = Counter(round(one.left / 2) for one in segments if left + margin < one.left < right - margin)
    for edge, count in edges.most_common(3):
        x = 2 * edge - 1.5
        if count >= MIN_LINES and _are_columns(segments, x, margin, depth):
            return x
    return None


def _are_columns(segments: Sequence[Segment], x: float, margin: float, depth: int) -> bool:
    before = [one for one in segments if one.right <= x]
    after = [one for one in segments if one.left >= x]
    heights = sorted(one.y for one in after)
    beside = [one for one in before if bisect_right(heights, one.y + one.size) > bisect_left(heights, one.y - one.size)]
    if len(beside) < MIN_LINES or len(after) < MIN_LINES:
        return False
    widths = [max(one.right for one in side) - min(one.left for one in side) for side in (before, after)]
    if min(widths) < margin:
        return False
    sides = [one.left >= x for one in segments if not one.left < x < one.right]
    n_switches = sum(one != other for one, other in pairwise(sides))
    if n_switches <= FEW_SWITCHES * min(len(before), len(after)):
        return True
    return all(
        _is_prose(side, width) or _gutter(side, depth + 1) is not None
        for side, width in zip((before, after), widths, strict=True)
    )


def _is_prose(segments: Sequence[Segment], width: float) -> bool:
    lengths = median(one.right - one.left for one in segments)
    return median(len(one.text) for one in segments) >= PROSE_CHARACTERS and lengths >= PROSE_WIDTH * width


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
    for line in lines:
        line.sort(key=lambda one: one.left)
    is_table = _table_rows(lines)
    rows = [_row(line, " | " if is_cells else " ") for line, is_cells in zip(lines, is_table, strict=True)]
    return _with_paragraphs(rows, is_table)


def _row(line: Sequence[Segment], separator: str) -> Row:
    text = separator.join(segment.text for segment in line)
    if "..." in text or ". ." in text:
        text = _LEADERS.sub(LEADERS, text)
    size = max(line, key=lambda one: len(one.text)).size
    right = max(segment.right for segment in line)
    is_bold = all(segment.is_bold for segment in line)
    return Row(text, line[0].left, right, line[0].y, size, begins=False, is_bold=is_bold)


def _table_rows(lines: Sequence[Sequence[Segment]]) -> list[bool]:
    """For each line, whether it is a row of a table: it has cells that are aligned with those of its neighbour."""
    found = [False] * len(lines)
    for number, (line, below) in enumerate(pairwise(lines)):
        if _have_cells(line) and _have_cells(below) and _are_aligned(line, below):
            found[number] = found[number + 1] = True
    return found


def _have_cells(line: Sequence[Segment]) -> bool:
    return len(line) > 2 or (len(line) == 2 and len(line[0].text) > MAX_MARK)


def _are_aligned(line: Sequence[Segment], below: Sequence[Segment]) -> bool:
    for one in line[1:MAX_CELLS]:
        for other in below[1:MAX_CELLS]:
            starts, ends = one.left - other.left, one.right - other.right
            if min(abs(starts), abs(ends), abs(starts + ends) / 2) < one.size / 2:
                return True
    return False


def _with_paragraphs(rows: Sequence[Row], is_table: Sequence[bool]) -> list[Row]:
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
            or is_table[number] != is_table[number - 1]
            or (not is_table[number] and _is_indented(above, row, rows[number + 1 : number + 2], left))
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


def text_of(rows: Sequence[Row]) -> str:
    """The text of rows, with an empty line before each paragraph, and without hyphens at the ends of lines."""
    parts: list[str] = []
    for row in rows:
        if parts and parts[-1].endswith(HYPHEN) and _continues(parts[-1], row.text):
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append("\n\n" if row.begins else "\n")
        parts.append(row.text)
    return "".join(parts).replace(HYPHEN, "-")


def _continues(line: str, following: str) -> bool:
    """Whether a word that ends the line with a hyphen goes on in the following line."""
    return following[:1].islower() or (following[:2].isupper() and line[-3:-1].isupper())


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

"""Arrange the segments of PDF pages: without what pages repeat, in columns, rows and paragraphs.

pdfium returns text in the order in which the file draws it. That is nearly always the order of reading, so it is kept
unless the file draws each line across all columns, or draws up and down the page.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import groupby, pairwise, takewhile
from statistics import median

from indexer.formats.pdf_segments import HYPHEN, Segment

MIN_LINES = 4  # in each column
MIN_WIDTH = 0.15  # of a column, as a share of the width of the text
MIN_ALIGNED = 0.2  # of the lines of a page: so many begin at the left edge of a column
FEW_SWITCHES = 0.3  # of the lines of a column: a file that draws column by column seldom goes from one to the other
PROSE_CHARACTERS, PROSE_WIDTH = 25, 0.7  # of the lines of a column: a table has shorter cells
FEW_RISES = 0.25  # of all segments: a file that draws in the order of reading seldom goes up the page
SAME_LINE = 0.4  # times the font size: the baselines of the segments of a row differ at most by this
NEW_PARAGRAPH = 1.3  # times the usual distance of lines
OTHER_SIZE = 1.1  # ratio of font sizes
INDENT = 0.8, 4.0  # times the font size: how far the first line of a paragraph is indented

N_OUTER = 3  # rows at the top of a page, and as many at the bottom, that can be headers or footers
MIN_PAGES = 3  # a row at the same height of so many pages is a header or a footer

MAX_TAIL = 500  # characters of a sentence on the page after that on which it begins

LEADERS = " ..."  # instead of many dots in a table of contents

CAPTION = re.compile(r"(?:figure|fig\.|table|listing|algorithm|abbildung|abb\.|tabelle)\s*[A-Z]?\d", re.IGNORECASE)
COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_DIVIDED = re.compile(rf"\w{HYPHEN}$")
# No syllable is an acronym or a single letter, as in DNA-binding, AB-QX and e-mail.
_OWN_HYPHEN = re.compile(
    rf"[A-Z]{HYPHEN}[^\W\d_A-Z]|(?<![^\W\d_])[B-DF-HJ-NP-TV-XZ]+{HYPHEN}|{HYPHEN}[B-DF-HJ-NP-TV-XZ]+(?![^\W\d_])"
    rf"|(?<![\w'\u2019])[a-z]{HYPHEN}|{HYPHEN}[a-z](?![^\W\d_])"
    r"|\b(?i:self|well|non|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)"
    rf"{HYPHEN}(?!ing|ish|less|ness|sens)\w{{3}}"
    r"|://|@|[a-z]\.[a-z]{2}"  # an address, or the name of a file
)
_HYPHENATED = re.compile(r"[^\W\d_]-\Z")
_SENTENCE_END = re.compile(r"[.!?:\u2026][\"')\]\u2019\u201d]*(?:\s+|\Z)")
_LEADERS = re.compile(r"(?:\s?\.){5,}")
_OF_ALL = r"(?:\s*(?:/|of|von|de|di|sur|van|av|af|z|из)\s*\d+)?"  # pages
# The number of a page beside a word for it, one that stands alone, and what separates it from a title
_PAGE = re.compile(
    r"\b(?:page|pg\.|p\.|seite|página|pagina|sida|side|strana|стр\.)\s*(?:\d+|[ivxlc]+\b)"
    rf"{_OF_ALL}|\b\d+\s*\|\s*p\s?a\s?g\s?e\b|第\s*\d+\s*[页頁ペ]", re.IGNORECASE,
)  # fmt: skip
_NUMBER = re.compile(rf"(\W*(?:[A-Z][-.\u2013]?|\d\d?[-.\u2013])??)(\d+){_OF_ALL}\W*", re.IGNORECASE)
_APART = re.compile(r"\t|\s[|•·\u2013\u2014-]\s")
_EDGE = re.compile(r"(?<=^\d) |(?<=^\d\d) |(?<=^\d\d\d) | (?=\S+$)")

# The height in points, the text, perhaps without the number of the page, and how far it is from the number in the file
_Key = tuple[int, str, int]


def rows_of(segments: Sequence[Segment]) -> list[Segment]:
    """The rows of a page, each as one segment, in the order of reading."""
    return [row for region in _regions(segments) for row in _with_paragraphs(_rows(region))]


def _regions(segments: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
    """The columns of a page, and the text between columns, each as segments in the order of reading."""
    gutters = _gutters(segments)
    ordered = sorted(segments, key=lambda one: (-one.y, one.left))
    if not gutters:
        n_rises = sum(below.y > one.y + one.size for one, below in pairwise(segments))
        yield segments if n_rises <= FEW_RISES * len(segments) else ordered
        return
    # The columns above and below a line that crosses a gutter are read one after the other.
    for crosses, band in groupby(ordered, key=lambda one: any(one.left < x < one.right for x in gutters)):
        yield from _columns(list(band), [] if crosses else gutters)


def _columns(segments: Sequence[Segment], gutters: Sequence[float]) -> list[list[Segment]]:
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
    edges = Counter(round(one.left / 4) * 4 for one in segments if left + margin < one.left < right - margin)
    least = max(MIN_LINES, MIN_ALIGNED * len({round(one.y) for one in segments}))
    gutters: list[float] = []
    for edge in sorted(edge for edge, count in edges.items() if count >= least):
        if not gutters or edge - 4 > gutters[-1] + margin:
            gutters.append(edge - 4)
    inside = [one for one in segments if not any(one.left < x < one.right for x in gutters)]
    columns = _columns(inside, gutters)
    n_switches = sum(bisect_right(gutters, a.left) != bisect_right(gutters, b.left) for a, b in pairwise(inside))
    is_divided = len(columns) > 1 and n_switches > FEW_SWITCHES * min(map(len, columns))
    return gutters if is_divided and all(map(_is_prose, columns)) else []


def _is_prose(column: Sequence[Segment]) -> bool:
    rows = _rows(sorted(column, key=lambda one: (-one.y, one.left)))
    width = max(row.right for row in rows) - min(row.left for row in rows)
    widths = [row.right - row.left for row in rows]
    return median(len(row.text) for row in rows) >= PROSE_CHARACTERS and median(widths) >= PROSE_WIDTH * width


def _rows(region: Sequence[Segment]) -> list[Segment]:
    lines: list[list[Segment]] = []
    for segment in region:
        if lines and abs(segment.y - lines[-1][0].y) <= SAME_LINE * max(segment.size, lines[-1][0].size):
            lines[-1].append(segment)
        else:
            lines.append([segment])
    return [_row(line) for line in lines]


def _row(line: list[Segment]) -> Segment:
    line.sort(key=lambda one: one.left)
    text = _LEADERS.sub(LEADERS, " ".join(segment.text for segment in line))
    size = max(line, key=lambda one: len(one.text)).size
    right, is_bold = max(segment.right for segment in line), all(segment.is_bold for segment in line)
    return Segment(text, line[0].left, right, line[0].y, size, is_bold)


def _with_paragraphs(rows: Sequence[Segment]) -> Iterator[Segment]:
    """The rows, with a mark on those that begin a paragraph."""
    distances = [one.y - below.y for one, below in pairwise(rows) if one.y > below.y]
    usual = median(distances) if distances else 0.0
    for number, row in enumerate(rows):
        above, below = rows[max(0, number - 1)], rows[min(number + 1, len(rows) - 1)]
        indent = row.left - max(above.left, below.left)  # only the first line of a paragraph is indented
        begins = (
            not 0 < above.y - row.y <= NEW_PARAGRAPH * max(usual, row.size)
            or not row.size / OTHER_SIZE < above.size < row.size * OTHER_SIZE
            or row.is_bold != above.is_bold
            or bool(CAPTION.match(row.text))
            or INDENT[0] * row.size <= indent <= INDENT[1] * row.size
        )
        yield row._replace(begins=begins)


def text_of(rows: Sequence[Segment], compounds: Set[str] = frozenset()) -> str:
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


def joined(last: Segment, rows: Sequence[Segment], compounds: Set[str]) -> tuple[str, int] | None:
    """The text of the last row of a page and of the first rows of the next one, and where their sentence ends in it.

    None if the rows begin a sentence.
    """
    first = rows[0]
    is_alike = last.size / OTHER_SIZE < first.size < last.size * OTHER_SIZE and last.is_bold == first.is_bold
    if not (is_alike and first.text[:1].islower()) or _SENTENCE_END.search(last.text[-3:]):
        return None
    text = last.text[:-1] + HYPHEN if _HYPHENATED.search(last.text) else last.text  # pdfium marks none at a page's end
    text = text_of([last._replace(text=text), first._replace(begins=False), *rows[1:]], compounds)
    end = _SENTENCE_END.search(text, len(last.text), len(last.text) + MAX_TAIL)
    return (text, end.end()) if end else None


def _hyphen(line: str, following: str, compounds: Set[str]) -> str:
    """The hyphen in a word that has one at the end of a line; "" if the word has it only there."""
    is_word = following[:1].islower() or (following[:2].isupper() and line[-2:].isupper())
    divided = f"{line.rsplit(maxsplit=1)[-1]}{HYPHEN}{following.split(maxsplit=1)[0]}"
    word = COMPOUND.search(divided.replace(HYPHEN, "-"))
    is_compound = _OWN_HYPHEN.search(divided) or (word and word[0].lower() in compounds)
    return "" if is_word and not is_compound else "-"


def without_repeated(pages: Sequence[Sequence[Segment]], large: float) -> list[list[Segment]]:
    """The segments of neighbouring pages without headers and footers.

    They are repeated rows, from the edge of the page inwards, up to the first row that belongs to the text of the page.
    Only the number of the page may differ, unless a row has a font of at least the size `large`. Such a row may be the
    heading of a chapter.
    """
    outer = [
        [_outer_rows(page, large, number, is_top=is_top) for is_top in (True, False)]
        for number, page in enumerate(pages)
    ]
    counts = Counter(key for page in outer for key in {key for side in page for keys, _ in side for key in keys})
    kept: list[list[Segment]] = []
    for page, sides in zip(pages, outer, strict=True):
        repeated = (takewhile(lambda one: max(counts[key] for key in one[0]) >= MIN_PAGES, side) for side in sides)
        removed = {id(segment) for side in repeated for _, row in side for segment in row}
        kept.append([segment for segment in page if id(segment) not in removed])
    return kept if any(kept) else [list(page) for page in pages]


def _outer_rows(
    page: Sequence[Segment], large: float, number: int, *, is_top: bool
) -> list[tuple[list[_Key], list[Segment]]]:
    """The outermost rows of page `number` with their keys, the outermost one first."""
    ordered = sorted(page, key=lambda one: (-one.y if is_top else one.y, one.left))
    rows: list[tuple[list[_Key], list[Segment]]] = []
    for y, group in groupby(ordered, key=lambda one: round(one.y)):
        if len(rows) == N_OUTER:
            break
        row = list(group)
        is_large = max(segment.size for segment in row) >= large
        keys = [(" ".join(segment.text for segment in row), 0)] if is_large else [*_row_keys(row, number)]
        rows.append(([(y, *key) for key in keys], row))
    return rows


def _row_keys(row: Sequence[Segment], page: int) -> Iterator[tuple[str, int]]:
    """The text of a row, and the text without each number that may be that of the page."""
    text = "\t".join(_EDGE.sub("\t", segment.text) if segment.is_apart else segment.text for segment in row)
    yield _PAGE.sub("#", text), 0
    pieces = _APART.split(text)
    for n, piece in enumerate(pieces):
        if found := _NUMBER.fullmatch(piece):
            yield "\t".join([*pieces[:n], f"{found[1]}#", *pieces[n + 1 :]]), int(found[2][:9]) - page

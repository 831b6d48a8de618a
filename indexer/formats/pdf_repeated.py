"""Remove the headers, footers and page numbers of a PDF, which its pages repeat."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from indexer.formats.pdf_segments import Segment

N_OUTER = 3  # rows at the top of a page, and as many at the bottom, that can be headers or footers
MIN_PAGES = 3  # a row at the same height of so many pages is a header or a footer

_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)

_Key = tuple[int, str]  # the height in points, and the text with each number replaced


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

"""The document of a sheet: its rows that are not empty are lines, whose numbers are those of the rows.

The anchor of a row names its cells. Numbers are written as spreadsheets show them: dates, shares, amounts and units.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple

from cdesearch.search.sheets import BAR, NO_NAME
from indexer.formats.format import MAX_TITLE, Anchor, Document, Heading, OpenFile, UnreadableError

MAX_ROW = 1_048_576  # in all usual programs
MAX_CHARACTERS = 100_000_000  # of a sheet; a text that is stored once may be repeated in every cell
MAX_EMPTY = 20  # rows that are kept between two others, where they separate tables
MAX_BEFORE_NAMES = 50  # rows in which the names of columns are looked for
ROWS_OF_TABLE = 4  # below the names of columns, which show how many columns there are
MAX_COLUMNS = 200  # whose names are a heading
MAX_GAP = 8  # empty cells that are written between two others
BEFORE_TEXT = -1  # the offset of a heading that stands above all of the text


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is not empty."""

    column: int  # from 0
    text: str
    is_text: bool  # in contrast to a number, a date or a truth value
    is_note: bool = False  # whether it is not the value of a cell, but a remark on it


Row = tuple[int, list[Cell]]  # the number of the row, from 1, and its cells, at least one, from left to right


def sheet_documents(file: OpenFile, title: str, sheets: Iterable[tuple[str, Iterable[Row]]]) -> Iterator[Document]:
    """The documents of the sheets that have text; raises UnreadableError if there are no sheets, or too much text."""
    has_sheets = False
    for name, rows in sheets:
        has_sheets = True
        document = sheet_document(file, title, " ".join(name.split())[:MAX_TITLE] or "Sheet", rows)
        if document.text:
            yield document
    if not has_sheets:
        raise UnreadableError("broken file without sheets")


def sheet_document(file: OpenFile, title: str, sheet: str, rows: Iterable[Row]) -> Document:
    """The document of one sheet. The name of the sheet and the row of column names are the headings of every chunk.

    Raises UnreadableError if the sheet has too much text.
    """
    lines: list[str] = []
    numbers: list[int] = []
    anchors: list[Anchor] = []
    first_rows: list[tuple[int, list[Cell]]] = []  # each with its offset
    size = last = 0
    for number, cells in rows:
        # A row without a usable number follows the row before.
        number = number if last < number <= MAX_ROW else last + 1  # noqa: PLW2901
        for empty in range(last + 1, min(number, last + 1 + MAX_EMPTY) if lines else 0):
            lines.append("")
            numbers.append(empty)
            size += 1
        if len(first_rows) < MAX_BEFORE_NAMES:
            first_rows.append((size, [cell for cell in cells if not cell.is_note]))
        anchors.append(Anchor(size, _cells(number, cells)))
        gaps = (" | " * min(max(after.column - cell.column, 0), MAX_GAP) for cell, after in pairwise(cells))
        lines.append("".join(gap + cell.text for gap, cell in zip(("", *gaps), cells, strict=True)))
        numbers.append(number)
        size += len(lines[-1]) + 1
        last = number
        if size > MAX_CHARACTERS:
            raise UnreadableError(f"sheet of more than {MAX_CHARACTERS:,} characters")
    headings = Heading(BEFORE_TEXT, 1, sheet), *_header(first_rows)
    places: dict[str, Any] = {"anchors": tuple(anchors), "has_lines": True, "line_numbers": tuple(numbers)}
    return Document.of(file, title, "\n".join(lines), headings=headings, record=sheet, **places)


def note_cell(column: int, text: str) -> Cell:
    """A comment on a cell, or another text that stands above it. It is written after the text of the cell."""
    return Cell(column, f" [{cell_text(text)}]", False, is_note=True)


def cell_text(text: str) -> str:
    """The text of a cell in one line."""
    return " ".join(text.split())


def _cells(number: int, cells: list[Cell]) -> str:
    """The cells of a row from the first to the last that is not empty, such as A7:D7."""
    first, last = (f"{_letters(cell.column)}{number}" for cell in (cells[0], cells[-1]))
    return first if first == last else f"{first}:{last}"


def _letters(column: int) -> str:
    """The name of a column: A to Z, then AA, AB and so on."""
    letters = ""
    while column >= 0:
        letters = chr(ord("A") + column % 26) + letters
        column = column // 26 - 1
    return letters


def _header(rows: list[tuple[int, list[Cell]]]) -> list[Heading]:
    """The heading of the columns: the first row of names that is as long as the rows below it.

    What stands above a table, such as its title or a remark, is shorter. If no row is as long, it may lack one cell, or
    else it is the first row of names. The list is empty if there are no names.
    """
    lengths = [len(cells) for _, cells in rows]
    possible = [  # several different texts
        number
        for number, (_, cells) in enumerate(rows)
        if 1 < len(cells) == len({cell.text for cell in cells}) and all(cell.is_text for cell in cells)
    ]
    if not possible:
        return []
    missing = {n: max(0, max(lengths[n + 1 : n + 1 + ROWS_OF_TABLE], default=0) - lengths[n]) for n in possible}
    most = min(1, *missing.values())
    offset, cells = rows[next((n for n in possible if missing[n] <= most), possible[0])]
    texts = {cell.column: cell.text for cell in cells}
    names = (texts.get(column, NO_NAME) for column in range(min(max(texts) + 1, MAX_COLUMNS)))
    return [Heading(offset, 2, BAR.join(names)[:MAX_TITLE])]


# The codes of formats that are part of every workbook, by their numbers. Currencies depend on the computer.
BUILT_IN = {
    **dict.fromkeys((*range(14, 23), 45, 47), "yyyy-mm-dd"), 46: "[h]:mm:ss",
    1: "0", 2: "0.00", 9: "0%", 10: "0.00%",
    **dict.fromkeys((3, 5, 6, 37, 38, 41, 42), "#,##0"), **dict.fromkeys((4, 7, 8, 39, 40, 43, 44), "#,##0.00"),
}  # fmt: skip
LONGEST = 255  # characters of a code, as in Excel
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]?|\[(?P<hours>[hms]+)\]|\[[^\]]*\]?|[_*].'
    r"|(?P<digits>[#0?][#0?,.]*)|(?P<sign>.)",
    re.DOTALL | re.IGNORECASE,
)


class _Code(NamedTuple):
    """How a code shows numbers: as dates, as hours beyond a day, or as digits with a text before and after them."""

    is_date: bool
    is_duration: bool
    before: str
    digits: str  # "" if the code is unusual
    after: str


def codes_of_styles(codes: dict[str, str], used: Iterable[str]) -> list[str]:
    """The codes of the formats that styles use, by their numbers; `codes` are those of the workbook by its numbers."""
    known = {str(number): code for number, code in BUILT_IN.items()} | codes
    return [known.get(one, "") for one in used]


def shown_number(number: float, code: str, epoch: datetime) -> str:
    """A number in the format of a code; `epoch` is the day from which dates are counted."""
    shown = _parsed(code[:LONGEST])
    with suppress(ArithmeticError, ValueError):  # too many digits, or a day that no calendar has
        if shown.is_date or shown.is_duration:
            return _date(number, epoch, is_duration=shown.is_duration)
        if shown.digits and isfinite(number):
            return "-" * (number < 0) + _amount(Decimal(f"{abs(number):.15g}"), shown)
    return f"{number:.15g}"


def _date(number: float, epoch: datetime, *, is_duration: bool) -> str:
    date = epoch + timedelta(seconds=round(number * 86_400))
    if is_duration:
        minutes = round(number * 1440)
        return f"{minutes // 60}:{minutes % 60:02d}"
    if 0 <= number < 1:
        return date.time().isoformat("minutes")
    return date.isoformat(" ", "minutes") if number % 1 else date.date().isoformat()


def _amount(number: Decimal, code: _Code) -> str:
    whole, _, part = code.digits.partition(".")
    number *= Decimal(100) ** (code.before + code.after).count("%")
    rounded = number.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP)
    shown, _, decimals = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(part.count("0"), "0")
    return f"{code.before}{shown.zfill(whole.count('0'))}{'.' if decimals else ''}{decimals}{code.after}".strip()


@lru_cache(maxsize=1000)
def _parsed(code: str) -> _Code:
    """What a code says about positive numbers; negative ones get a sign."""
    before = digits = after = ""
    is_date = is_duration = is_unusual = False
    for token in _TOKEN.finditer(code):
        sign = token["sign"] or ""
        if sign == ";":
            break
        text = token["quoted"] or token["escaped"] or token["currency"] or sign
        is_duration |= token["hours"] is not None
        is_date |= sign != "" and sign in "dmyhsDMYHS"
        is_unusual |= sign.isalpha() or sign in ("@", "/") or bool(digits and token["digits"])
        if token["digits"]:
            is_unusual |= token["digits"].endswith(",")  # it shows thousands
            digits = token["digits"]
        elif digits:
            after += text
        else:
            before += text
    return _Code(is_date, is_duration, before, "" if is_unusual else digits, after)

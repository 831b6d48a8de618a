"""Read Excel workbooks: a sheet is a document whose lines are its rows."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import reduce
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from string import ascii_uppercase
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.package import (
    Package,
    alternative_texts,
    attribute,
    iterate_xml,
    local_name,
    main_part,
    number_in,
    paragraphs,
    related_part,
    relations,
    texts_beside,
    title_of,
)
from indexer.formats.spreadsheet import Cell, Row, cell_text, codes_of_styles, note_cell, sheet_documents, shown_number

KIND = "XLSX"
MAX_SHEETS = 1_000
MAX_COLUMNS = 16_384
MAX_CELL = 32_767  # characters that a cell may have in Excel
_LETTERS = re.compile(r"[A-Z]{1,3}(?=\d)")
_ESCAPED = re.compile(r"_x00([\dA-Fa-f]{2})_")
MARGIN_CODE = re.compile(r'&(?:"[^"]*"|\d+|K[\dA-F]{6}|.)')  # such as a font, or the number of the page


class Xlsx(Format):
    """Excel workbooks in Office Open XML, hidden sheets included. Formulas are read as the values stored for them.

    Comments and texts in shapes are parts of their rows.
    """

    suffixes = frozenset({".xlsx", ".xlsm", ".xltx", ".xltm"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        part = main_part(package)
        workbook = package.xml(part)
        targets = relations(package, part)
        shared = _part(package, targets, "sharedStrings")
        items = iterate_xml(package.read(shared, is_streamed=True), KIND, "si") if shared else ()
        texts = [_rich_text(item) for event, item in items if event == "end"]
        is_1904 = any(attribute(one, "date1904") in ("1", "true") for one in workbook.iterfind("{*}workbookPr"))
        values = Values(texts, _styles(package, targets), is_1904=is_1904)
        listed = list(workbook.iter("{*}sheet"))
        if len(listed) > MAX_SHEETS:
            raise UnreadableError(f"{KIND} of more than {MAX_SHEETS:,} sheets")
        parts = ((attribute(sheet, "name"), related_part(sheet, targets)) for sheet in listed)
        sheets = (
            (name, _with_notes(_rows(package.read(part, is_streamed=True), values), _notes(package, part)))
            for name, (kind, part) in parts
            if kind in ("worksheet", "chartsheet")
        )
        yield from sheet_documents(file, title_of(package, "docProps/core.xml", file), sheets)


def _part(package: Package, targets: dict[str, tuple[str, str]], kind: str) -> str | None:
    found = next((target for one, target in targets.values() if one == kind), "")
    return found if found in package.names else None


def _rich_text(item: Any) -> str:
    """The text of all runs, without the phonetic guides of East Asian text."""
    parts = (one.text or "" for one in item.iter("{*}t") if one is item or local_name(one.getparent()) != "rPh")
    return _unescaped("".join(parts)[:MAX_CELL])


def _unescaped(text: str) -> str:
    """The text of a cell in one line. The file has control characters, such as line ends, as their numbers."""
    return cell_text(_ESCAPED.sub(lambda code: " " if code[1] < "20" else chr(int(code[1], 16)), text))


def _styles(package: Package, targets: dict[str, tuple[str, str]]) -> list[str]:
    """The codes of the formats of numbers, by the numbers of the styles that use them."""
    part = _part(package, targets, "styles")
    if part is None:
        return []
    styles = package.xml(part)
    codes = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in styles.iter("{*}numFmt")}
    return codes_of_styles(codes, (attribute(one, "numFmtId") for one in styles.iterfind("{*}cellXfs/{*}xf")))


class Values:
    """Converts stored values to the text of cells."""

    def __init__(self, texts: list[str], codes: list[str], *, is_1904: bool) -> None:
        self.texts = texts
        self._codes = codes
        # The day from which dates are counted. Day 60 of the older system, 29 February 1900, never existed.
        self._epoch = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)

    def cell(self, element: Any, column: int) -> Cell:
        """The cell of an element `c`."""
        kind = element.get("t", "n")
        if kind == "inlineStr":
            return Cell(column, _rich_text(element), True)
        value = next((child.text or "" for child in element if child.tag.endswith("}v")), "").strip()
        if kind == "s":
            number = number_in(value, len(self.texts))
            return Cell(column, self.texts[number] if number < len(self.texts) else "", True)
        if kind == "b":
            return Cell(column, {"1": "TRUE", "0": "FALSE"}.get(value, ""), False)
        if kind == "n":
            return Cell(column, self.number(value, number_in(element.get("s", "0"), -1)), False)
        return Cell(column, _unescaped(value[:MAX_CELL]), kind == "str")

    def number(self, value: str, style: int) -> str:
        """The text of a number in a style."""
        try:
            number = float(value)
        except ValueError:
            return cell_text(value[:MAX_CELL])
        return shown_number(number, self._codes[style] if 0 <= style < len(self._codes) else "", self._epoch)


def _rows(data: bytes, values: Values) -> Iterator[Row]:
    """The rows of a sheet that have cells, and its headers and footers. The size that it declares is not used."""
    number = 0
    for event, row in iterate_xml(data, KIND, "headerFooter", "row"):
        if event == "start":
            continue
        if local_name(row) == "headerFooter":
            texts = (cell_text(MARGIN_CODE.sub(" ", one.text or "")) for one in row)
            cells = [note_cell(0, text) for text in dict.fromkeys(filter(None, texts))]
        else:
            cells = list(_cells(row, values))
        number = number_in(row.get("r", ""), number + 1)
        if cells:
            yield number, cells


def _notes(package: Package, sheet: str) -> dict[int, list[Cell]]:
    """The comments of cells, and the texts of shapes and charts at the cell where they begin, by rows."""
    notes: dict[int, list[Cell]] = defaultdict(list)
    threaded = set()
    # A threaded comment has a copy among the other comments, for older programs.
    for kind, target in sorted(relations(package, sheet).values(), reverse=True):
        if kind in ("threadedComment", "comments"):
            for one in package.xml(target).iter("{*}threadedComment", "{*}comment"):
                cell = attribute(one, "ref")
                if kind == "threadedComment":
                    threaded.add(cell)
                if kind == "threadedComment" or cell not in threaded:
                    text = "".join(text.text or "" for text in one.iter("{*}text", "{*}t"))
                    number = number_in(cell.lstrip(ascii_uppercase), 1)
                    notes[number].append(note_cell(_column(cell, 0), f"Comment: {text}"))
        elif kind == "drawing":
            number = column = 0
            for anchor in package.xml(target):
                found = (anchor.findtext(f"{{*}}from/{{*}}{name}", "").strip() for name in ("row", "col"))
                number, column = (number_in(text, 0) for text in found)
                texts = dict.fromkeys([*paragraphs(anchor), *alternative_texts(anchor)])
                notes[number + 1] += (note_cell(column, text) for text in texts)
            beside = relations(package, target).values()
            notes[number + 1] += (note_cell(column, text) for text in texts_beside(package, beside))
    return {number: cells for number, cells in notes.items() if cells}


def _with_notes(rows: Iterable[Row], notes: dict[int, list[Cell]]) -> Iterable[Row]:
    """The rows, in which the notes follow the cells that they belong to."""
    if not notes:
        return rows
    merged = groupby(merge(rows, sorted(notes.items()), key=itemgetter(0)), itemgetter(0))
    return (
        (number, sorted((cell for _, cells in same for cell in cells), key=attrgetter("column")))
        for number, same in merged
    )


def _cells(row: Any, values: Values) -> Iterator[Cell]:
    column = -1
    for element in row:
        given = _column(element.get("r", ""), column + 1)
        column = given if column < given < MAX_COLUMNS else column + 1
        cell = values.cell(element, column)
        if cell.text:
            yield cell


def _column(cell: str, default: int) -> int:
    """The number of the column, from 0, that the name of a cell begins with."""
    letters = _LETTERS.match(cell)
    if letters is None:
        return default
    return reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters[0], 0) - 1

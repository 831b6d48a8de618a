"""Read Excel workbooks: a sheet is a document whose lines are its rows."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.package import (
    Package,
    attribute,
    iterate_xml,
    local_name,
    main_part,
    number_in,
    related_part,
    relations,
    title_of,
)
from indexer.formats.spreadsheet import Cell, Row, cell_text, sheet_documents

KIND = "XLSX"
MAX_SHEETS = 1_000
MAX_COLUMNS = 16_384
MAX_CELL = 32_767  # characters that a cell may have in Excel
BUILT_IN_DATES = {*range(14, 23), *range(45, 48)}  # numbers of formats that are part of every workbook
# Parts of a format that are not codes: texts in quotes, escaped characters, and colours or conditions.
_LITERALS = re.compile(r'"[^"]*"?|\\.|\[(?![hms]+\])[^\]]*\]?', re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{1,3}(?=\d)")


class Xlsx(Format):
    """Excel workbooks in Office Open XML, hidden sheets included. Formulas are read as the values stored for them."""

    suffixes = frozenset({".xlsx", ".xlsm"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        part = main_part(package)
        workbook = package.xml(part)
        targets = relations(package, part)
        shared = _part(package, targets, "sharedStrings")
        items = iterate_xml(package.read(shared, is_streamed=True), KIND, "si") if shared else ()
        texts = [_rich_text(item) for event, item in items if event == "end"]
        values = _Values(texts, _date_styles(package, targets), _epoch(workbook))
        listed = list(workbook.iter("{*}sheet"))
        if len(listed) > MAX_SHEETS:
            raise UnreadableError(f"{KIND} of more than {MAX_SHEETS:,} sheets")
        parts = ((attribute(sheet, "name"), related_part(sheet, targets)) for sheet in listed)
        sheets = (
            (name, _rows(package.read(part, is_streamed=True), values))
            for name, (kind, part) in parts
            if kind == "worksheet"
        )
        yield from sheet_documents(file, title_of(package, "docProps/core.xml"), sheets)


def _part(package: Package, targets: dict[str, tuple[str, str]], kind: str) -> str | None:
    found = next((target for one, target in targets.values() if one == kind), "")
    return found if found in package.names else None


def _rich_text(item: Any) -> str:
    """The text of all runs, without the phonetic guides of East Asian text."""
    parts = (one.text or "" for one in item.iter("{*}t") if one is item or local_name(one.getparent()) != "rPh")
    return cell_text("".join(parts)[:MAX_CELL])


def _date_styles(package: Package, targets: dict[str, tuple[str, str]]) -> set[int]:
    """The numbers of the styles that show a number as a date or a time."""
    part = _part(package, targets, "styles")
    if part is None:
        return set()
    styles = package.xml(part)
    codes = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in styles.iter("{*}numFmt")}
    dates = {number for number, code in codes.items() if re.search(r"[dmyhs]", _LITERALS.sub("", code), re.IGNORECASE)}
    dates |= {str(number) for number in BUILT_IN_DATES} - codes.keys()
    used = styles.find("{*}cellXfs")
    styled = used.iterchildren("{*}xf") if used is not None else ()
    return {number for number, one in enumerate(styled) if attribute(one, "numFmtId") in dates}


def _epoch(workbook: Any) -> datetime:
    """The day from which dates are counted. Day 60 of the older system, 29 February 1900, never existed."""
    settings = workbook.find("{*}workbookPr")
    starts_1904 = settings is not None and attribute(settings, "date1904") in ("1", "true")
    return datetime(1904, 1, 1) if starts_1904 else datetime(1899, 12, 30)


class _Values:
    """Converts stored values to the text of cells."""

    def __init__(self, texts: list[str], date_styles: set[int], epoch: datetime) -> None:
        self._texts = texts
        self._date_styles = date_styles
        self._epoch = epoch

    def cell(self, element: Any, column: int) -> Cell:
        """The cell of an element `c`."""
        kind = element.get("t", "n")
        if kind == "inlineStr":
            return Cell(column, _rich_text(element), True)
        value = next((child.text or "" for child in element if child.tag.endswith("}v")), "").strip()
        if kind == "s":
            number = number_in(value, len(self._texts))
            return Cell(column, self._texts[number] if number < len(self._texts) else "", True)
        if kind == "b":
            return Cell(column, {"1": "TRUE", "0": "FALSE"}.get(value, ""), False)
        if kind == "n":
            return Cell(column, self._number(value, element.get("s", "0")), False)
        return Cell(column, cell_text(value[:MAX_CELL]), kind == "str")

    def _number(self, value: str, style: str) -> str:
        try:
            number = float(value)
        except ValueError:
            return cell_text(value[:MAX_CELL])
        if number_in(style, -1) in self._date_styles:
            try:
                date = self._epoch + timedelta(seconds=round(number * 86_400))
            except (OverflowError, ValueError):
                return value[:MAX_CELL]
            if 0 <= number < 1:
                return date.time().isoformat("minutes")
            return date.isoformat(" ", "minutes") if number % 1 else date.date().isoformat()
        return f"{number:.15g}"


def _rows(data: bytes, values: _Values) -> Iterator[Row]:
    """The rows of a sheet that have cells. The size that the sheet declares is not used."""
    for event, row in iterate_xml(data, KIND, "row"):
        if event == "end" and (cells := list(_cells(row, values))):
            yield number_in(row.get("r", ""), 0), cells


def _cells(row: Any, values: _Values) -> Iterator[Cell]:
    column = -1
    for element in row:
        letters = _LETTERS.match(element.get("r", ""))
        given = column + 1
        if letters:
            given = reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters[0], 0) - 1
        column = given if column < given < MAX_COLUMNS else column + 1
        cell = values.cell(element, column)
        if cell.text:
            yield cell

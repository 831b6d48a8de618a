"""Read OpenDocument spreadsheets: a sheet is a document whose lines are its rows."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.opendocument import CONTENT, blocks, open_package
from indexer.formats.package import attribute, iterate_xml, local_name
from indexer.formats.spreadsheet import MAX_ROW, Cell, Names, Row, cell_text, sheet_document

KIND = "ODS"


class Ods(Format):
    """OpenDocument spreadsheets, hidden sheets included. Formulas are read as the values stored for them."""

    suffixes = frozenset({".ods", ".ots"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package, title = open_package(file.stream.read(), KIND)
        names, found = Names(), False
        for sheet, rows in _sheets(package.read(CONTENT, is_streamed=True)):
            found = True
            document = sheet_document(file, title, names.unique(sheet), rows)
            if document.text:
                yield document
        if not found:
            raise package.broken()


def _sheets(data: bytes) -> Iterator[tuple[str, list[Row]]]:
    """The name and the rows of each sheet."""
    rows: list[Row] = []
    name, number, depth = "", 1, 0
    for event, element in iterate_xml(data, KIND, "table", "table-row"):
        if local_name(element) == "table":
            depth += 1 if event == "start" else -1
            if event == "start" and depth == 1:
                name, number, rows = attribute(element, "name"), 1, []
            elif event == "end" and depth == 0:
                yield name, rows
        elif event == "end" and depth == 1:
            cells = list(_cells(element))
            if cells:
                rows.append((number, cells))
            number = min(number + _repeats(element, "number-rows-repeated"), MAX_ROW)


def _cells(row: Any) -> Iterator[Cell]:
    """The cells that are not empty. A cell that is repeated is written once, because its text is the same."""
    column = 0
    for element in row:
        if local_name(element) in ("table-cell", "covered-table-cell"):
            text = cell_text(" ".join(blocks(element))) or attribute(element, "value")
            if text:
                yield Cell(column, text, attribute(element, "value-type") == "string")
            column += _repeats(element, "number-columns-repeated")


def _repeats(element: Any, name: str) -> int:
    """How often a row or cell occurs; at least once, and not more often than a sheet has rows."""
    given = attribute(element, name, "1")
    return max(1, min(int(given), MAX_ROW)) if given.isdecimal() and len(given) < 10 else 1

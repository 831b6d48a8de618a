"""Read OpenDocument: texts as Markdown, presentations slide by slide, and spreadsheets sheet by sheet."""

import posixpath
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any
from urllib.parse import unquote

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.markdown import converted_document, table_of, without_headings
from indexer.formats.package import (
    Package,
    alternative_text,
    attribute,
    iterate_xml,
    local_name,
    number_in,
    parse_xml,
    title_of,
)
from indexer.formats.pptx import Slide, slides_document
from indexer.formats.spreadsheet import MAX_ROW, Cell, Row, cell_text, note_cell, sheet_documents

CONTENT, STYLES, MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"
# Deleted text, and text that the program generates, such as a table of contents
LEFT_OUT = {
    "tracked-changes", "annotation-end", "table-of-content", "alphabetical-index", "illustration-index", "forms",
    "table-index", "object-index", "user-index", "bibliography", "note-citation", "ruby-text", "page-number",
    "page-count", "sheet-name",
}  # fmt: skip
MARGINS = [f"{{*}}{name}{page}" for name in ("header", "footer") for page in ("", "-left", "-first")]
DECLARED = ("{*}header-decl", "{*}footer-decl")  # the headers and footers of slides
BLANKS = {"s": " ", "tab": "\t", "line-break": "\n"}
ANCHORED = {"note", "annotation", "frame", "custom-shape", "rect", "ellipse", "line", "g", "object", "caption"}

_MARGIN = re.compile(rb":(?:header|footer)(?:-left|-first)?[ >]")


class Odt(Format):
    """OpenDocument texts, without deleted text and tables of contents.

    A note, comment or text box follows its paragraph. Headers and footers are read once, at the end.
    """

    suffixes = frozenset({".odt", ".ott"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = _package(file, "ODT")
        title = title_of(package, "meta.xml", file)
        if CONTENT not in package.names and STYLES in package.names:  # a template that consists of styles alone
            yield converted_document(file.path, title, "")
            return
        texts = (text for text in _blocks(_body(file, package, "text")) if text.strip())
        yield converted_document(file.path, title, "\n\n".join([*texts, *_margins(package)]))


class Odp(Format):
    """OpenDocument presentations, hidden slides included."""

    suffixes = frozenset({".odp", ".otp"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = _package(file, "ODP")
        body = _body(file, package, "presentation")
        slides = [_slide(page) for page in body.iterchildren("{*}page")]
        if slides:
            slides[0].blocks.extend(dict.fromkeys(one.text or "" for one in body.iterchildren(*DECLARED)))
        yield slides_document(file, title_of(package, "meta.xml", file), slides)


class Ods(Format):
    """OpenDocument spreadsheets, hidden sheets included. Formulas are read as the values stored for them."""

    suffixes = frozenset({".ods", ".ots"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = _package(file, "ODS")
        sheets = _sheets(file, package, _margins(package))
        yield from sheet_documents(file, title_of(package, "meta.xml", file), sheets)


def _package(file: OpenFile, kind: str) -> Package:
    """The package; raises UnreadableError if it is encrypted or broken."""
    package = Package(file.stream.read(), kind)
    if MANIFEST in package.names and b"encryption-data" in package.read(MANIFEST):
        raise UnreadableError(f"encrypted {kind}")
    return package


def _body(file: OpenFile, package: Package, kind: str) -> Any:
    body = package.xml(CONTENT).find(f"{{*}}body/{{*}}{kind}")
    if body is None:
        raise package.broken()
    return _with_objects(file, package, body)


def _with_objects(file: OpenFile, package: Package, parent: Any) -> Any:
    """The element, in which the charts and other documents that the package contains stand where they are shown.

    Those that cannot be read are left out of `file` and counted.
    """
    for shown in list(parent.iter("{*}object")):
        name = posixpath.normpath(f"{unquote(attribute(shown, 'href'))}/{CONTENT}")
        if name != CONTENT and name in package.names:
            try:
                shown.extend(package.xml(name).findall("{*}body"))
            except UnreadableError as error:
                file.left_out.add(posixpath.dirname(name), f"cannot be read: {error}", "part")
    return parent


def _blocks(parent: Any, depth: int = 0) -> Iterator[str]:
    """The Markdown of the headings, paragraphs, lists and tables below `parent`, one after the other."""
    for child in parent:
        name = local_name(child)
        anchored: list[Any] = []
        if name == "h":
            level = attribute(child, "outline-level", "1")
            text = " ".join(_text(child, anchored).split())
            yield f"{'#' * max(1, min(int(level), 6))} {text}" if text and level.isdecimal() else text
        elif name == "p":
            yield without_headings(_text(child, anchored))
        elif name in ("title", "desc"):
            yield alternative_text(_text(child, anchored))
        elif name == "chart":
            yield _chart_text(child)
        elif name == "annotation":
            yield "Comment: " + "\n".join(_blocks(child))
        elif name == "list":
            yield "\n".join(_items(child, depth))
        elif name == "table":
            yield table_of(_table_rows(child))
        elif name not in LEFT_OUT:
            yield from _blocks(child, depth)
        if anchored:
            yield from _blocks(anchored)


def _text(paragraph: Any, anchored: list[Any]) -> str:
    """The text of a paragraph. The notes, comments and shapes in it are added to `anchored` instead."""
    return "".join(_pieces(paragraph, anchored)).strip()


def _pieces(element: Any, anchored: list[Any]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = local_name(child)
        if name in BLANKS:
            yield BLANKS[name]
        elif name in ANCHORED:
            anchored.append(child)
        elif name not in LEFT_OUT:
            yield from _pieces(child, anchored)
        yield child.tail or ""


def _items(element: Any, depth: int) -> Iterator[str]:
    for item in element:
        texts = [text for text in _blocks(item, depth + 1) if text.strip()]
        is_list = [local_name(child) == "list" for child in item if local_name(child) in ("list", "p", "h")]
        for number, text in enumerate(texts):
            nested = len(is_list) == len(texts) and is_list[number]
            yield text if nested else "  " * depth + ("  " if number else "- ") + text


def _table_rows(table: Any) -> Iterator[list[str]]:
    """The texts of the cells of each row; what spans or repeats several cells is written once."""
    for child in table:
        name = local_name(child)
        if name in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _table_rows(child)
        elif name == "table-row":
            yield [" ".join(" ".join(_blocks(cell)).split()) for cell in child.iterchildren("{*}table-cell")]


def _chart_text(chart: Any) -> str:
    """The titles of a chart and of its axes, and the names of its series and of their categories, in a line each."""
    titles = [_text(line, []) for title in chart.iter("{*}title", "{*}subtitle") for line in title.iter("{*}p")]
    rows = [
        [_text(line, []) for cell in row if attribute(cell, "value-type") == "string" for line in cell.iterfind("{*}p")]
        for row in chart.iter("{*}table-row")
    ]
    lines = (" | ".join(dict.fromkeys(filter(None, chain(*found)))) for found in (rows[:1], rows[1:]))
    return "\n".join(filter(None, (*titles, *lines)))


def _slide(page: Any) -> Slide:
    title, texts, notes = "", list[str](), list[str]()
    for element in page:
        found = [text for text in _blocks([element]) if text.strip()]
        if local_name(element) == "notes":
            notes += found
        elif attribute(element, "class") == "title" and not title:
            title = " ".join(" ".join(found).split())
        else:
            texts += found
    return Slide(title, texts, "\n".join(notes))


def _margins(package: Package) -> list[str]:
    """The texts of headers and footers, each once."""
    data = package.read(STYLES) if STYLES in package.names else b""
    if not _MARGIN.search(data):  # otherwise, parsing the styles would take a third of the time
        return []
    texts = (text for margin in parse_xml(data, package.kind).iter(*MARGINS) for text in _blocks(margin))
    return list(dict.fromkeys(text for text in texts if sum(map(str.isalpha, text)) > len("Page")))


def _sheets(file: OpenFile, package: Package, margins: list[str]) -> Iterator[tuple[str, list[Row]]]:
    """The name and the rows of each sheet. After the rows follow the texts of shapes, and in one sheet `margins`."""
    rows: list[Row] = []
    name, number, depth = "", 1, 0
    data = package.read(CONTENT, is_streamed=True)
    for event, element in iterate_xml(data, package.kind, "table", "shapes", "table-row"):
        if local_name(element) == "table":
            depth += 1 if event == "start" else -1
            if event == "start" and depth == 1:
                name, number, rows = attribute(element, "name"), 1, []
            elif event == "end" and depth == 0:
                if margins:
                    rows.append((number, [note_cell(0, text) for text in margins]))
                    margins = []
                yield name, rows
        elif local_name(element) == "shapes":
            if event == "end":
                margins = [*(text for text in _blocks(_with_objects(file, package, element)) if text.strip()), *margins]
        elif event == "end" and depth == 1:
            if cells := list(_cells(_with_objects(file, package, element))):
                rows.append((number, cells))
            number = min(number + _repeats(element, "number-rows-repeated"), MAX_ROW)


def _cells(row: Any) -> Iterator[Cell]:
    """The cells that are not empty. A cell that is repeated is written once, because its text is the same."""
    column = 0
    for element in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
        notes = [one for one in element if local_name(one) in ANCHORED]
        blocks = _blocks(one for one in element if one not in notes)
        if text := cell_text(" ".join(blocks)) or attribute(element, "value"):
            yield Cell(column, text, attribute(element, "value-type") == "string")
        yield from (note_cell(column, text) for text in _blocks(notes) if text.strip())
        column += _repeats(element, "number-columns-repeated")


def _repeats(element: Any, name: str) -> int:
    """How often a row or cell occurs; at least once, and not more often than a sheet has rows."""
    return max(1, min(number_in(attribute(element, name), 1), MAX_ROW))

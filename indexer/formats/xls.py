"""Read workbooks of Excel 97 to 2003: a sheet is a document whose lines are its rows."""

from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter
from struct import pack, unpack, unpack_from
from typing import Any

from indexer.formats.format import Document, OpenFile, UnreadableError
from indexer.formats.old_office import OldOffice
from indexer.formats.spreadsheet import Cell, Row, cell_text, codes_of_styles, note_cell, sheet_documents
from indexer.formats.xlsx import MARGIN_CODE, Values, Xlsx

# Types of records
FORMULA, END, HEADER, FOOTER, DATES, PASSWORD, CONTINUED = 0x06, 0x0A, 0x14, 0x15, 0x22, 0x2F, b"\x3c\0"
COMMENT, OBJECT, SHEET, SHORT_NUMBERS, STYLE, TEXTS, TEXT = 0x1C, 0x5D, 0x85, 0xBD, 0xE0, 0xFC, 0xFD
SHAPE_TEXT, NUMBER, OWN_TEXT, TRUTH, RESULT, SHORT_NUMBER = 0x1B6, 0x203, 0x204, 0x205, 0x207, 0x27E
FORMAT, START, CHART_TEXT = 0x41E, 0x809, 0x100D
CELLS = {NUMBER, SHORT_NUMBER, SHORT_NUMBERS, FORMULA, TEXT, OWN_TEXT, TRUTH}
TRUTHS = ("FALSE", "TRUE")
EXCEL_97 = 0x600
Record = tuple[int, list[bytes]]  # the type, and the contents in one or more parts


class Xls(OldOffice):
    """Old Excel workbooks, hidden sheets included. Comments and texts in shapes are parts of their rows."""

    suffixes = frozenset({".xls"})
    kind, newer, newer_suffix = "Excel", Xlsx(), ".xlsx"

    def documents(self, file: OpenFile, compound: Any) -> Iterator[Document]:
        data = self.stream(compound, "Workbook")
        texts, codes, styles, sheets = list[str](), dict[str, str](), list[str](), dict[int, str]()
        is_1904 = False
        for kind, (body, *more) in _records(data, 0):
            if kind == START and unpack_from("<H", body)[0] != EXCEL_97:
                raise self.too_old()
            if kind == PASSWORD:
                raise UnreadableError("encrypted file of Excel")
            if kind == SHEET:
                sheets[unpack_from("<I", body)[0]] = _text(body, 7, body[6])
            elif kind == TEXTS:
                texts = list(_shared_texts(body[8:], more))
            elif kind == FORMAT:
                codes[str(unpack_from("<H", body)[0])] = _text(body, 4, unpack_from("<H", body, 2)[0])
            elif kind == STYLE:
                styles.append(str(unpack_from("<H", body, 2)[0]))
            elif kind == DATES:
                is_1904 = body[0] == 1
        values = Values(texts, codes_of_styles(codes, styles), is_1904=is_1904)
        yield from sheet_documents(file, "", ((name, _rows(data, place, values)) for place, name in sheets.items()))


def _records(data: bytes, place: int) -> Iterator[Record]:
    """The records of the part of a workbook that begins at a place, with those of charts in it."""
    depth = 0
    while place + 4 <= len(data):
        (kind,), parts = unpack_from("<H", data, place), list[bytes]()
        while not parts or data[place : place + 2] == CONTINUED:
            (size,) = unpack_from("<H", data, place + 2)
            parts.append(data[place + 4 : place + 4 + size])
            place += 4 + size
        depth += (kind == START) - (kind == END)
        if depth <= 0:
            return
        yield kind, parts


def _text(data: bytes, place: int, length: int) -> str:
    """The text at a place, which begins with a byte that says how wide its characters are."""
    width = data[place] & 1
    return _decoded(data[place + 1 : place + 1 + (length << width)], width)


def _decoded(data: bytes, width: int) -> str:
    return data.decode("utf-16-le" if width else "latin-1", "replace")


def _shared_texts(data: bytes, waiting: list[bytes]) -> Iterator[str]:
    """The texts that cells refer to. A text may go on in the next part, in characters of another width."""
    waiting.reverse()
    while data or waiting:
        data = data or waiting.pop()
        length, flags = unpack_from("<HB", data)
        to_skip = 4 * unpack_from("<H", data, 3)[0] if flags & 8 else 0  # the formatting after the text
        if flags & 4:
            to_skip += unpack_from("<I", data, 5 if flags & 8 else 3)[0]  # and its pronunciation
        data = data[3 + (flags & 8) // 4 + (flags & 4) :]
        text = ""
        while True:
            width = flags & 1
            part = data[: length << width]
            text += _decoded(part, width)
            length -= len(part) >> width
            data = data[len(part) :]
            if not (length and waiting):
                break
            data = waiting.pop()
            flags, data = data[0], data[1:]
        while to_skip > len(data) and waiting:
            to_skip -= len(data)
            data = waiting.pop()
        data = data[to_skip:]
        yield cell_text(text)


def _rows(data: bytes, place: int, values: Values) -> Iterator[Row]:
    rows: dict[int, list[Cell]] = defaultdict(list)
    shapes, comments, others = dict[int, str](), dict[int, list[int]](), list[str]()
    row = column = shape = 0
    for kind, (body, *more) in _records(data, place):
        if kind in CELLS:
            row, column = unpack_from("<HH", body)
        for number, (text, is_text) in enumerate(_cells(kind, body, values), start=column):
            if text:
                rows[row].append(Cell(number, text, is_text))
        if kind == OBJECT:
            (shape,) = unpack_from("<H", body, 6)
        elif kind == SHAPE_TEXT and more:
            shapes[shape] = _text(more[0], 0, unpack_from("<H", body, 10)[0])
        elif kind == COMMENT:
            *cell, _, shape = unpack_from("<4H", body)
            comments[shape] = cell
        elif kind in (HEADER, FOOTER) and body:
            others.append(MARGIN_CODE.sub(" ", _text(body, 2, unpack_from("<H", body)[0])))
        elif kind == CHART_TEXT:
            others.append(_text(body, 3, body[2]))
    for shape, (row, column) in comments.items():
        rows[row].append(note_cell(column, f"Comment: {shapes.pop(shape, '')}"))
    if others := list(filter(str.strip, dict.fromkeys([*others, *shapes.values()]))):
        rows[max(rows, default=-1) + 1] += (note_cell(0, text) for text in others)
    for row in sorted(rows):
        yield row + 1, sorted(rows[row], key=attrgetter("column"))


def _cells(kind: int, body: bytes, values: Values) -> Iterator[tuple[str, bool]]:
    """The texts in a record of one cell or several in a row, and whether each is a text in contrast to a number."""
    if kind == TEXT:
        yield values.texts[unpack_from("<I", body, 6)[0]], True
    elif kind == OWN_TEXT:
        yield cell_text(_text(body, 8, unpack_from("<H", body, 6)[0])), True
    elif kind == RESULT:  # of the formula before
        yield cell_text(_text(body, 2, unpack_from("<H", body)[0])), True
    elif kind == TRUTH:  # or an error
        yield "" if body[7] else TRUTHS[body[6] & 1], False
    elif kind == FORMULA and body[12:14] == b"\xff\xff":  # its result is not a number
        yield TRUTHS[body[8] & 1] if body[6] == 1 else "", False
    elif kind in (FORMULA, NUMBER):
        style, number = unpack_from("<Hd", body, 4)
        yield values.number(repr(number), style), False
    elif kind in (SHORT_NUMBER, SHORT_NUMBERS):
        for start in range(4, len(body) - 5, 6):
            style, coded = unpack_from("<Hi", body, start)
            number = coded >> 2 if coded & 2 else unpack("<d", pack("<4xI", coded & 0xFFFFFFFC))[0]
            yield values.number(repr(number / 100 if coded & 1 else number), style), False

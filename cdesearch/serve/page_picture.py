"""A process that draws one page of a PDF, which may be hostile: `python -m cdesearch.serve.page_picture PARENT`.

A line of JSON arrives on stdin, with the number of the page, the width, the stems to mark and the lines of a scanned
page, each with its words and edges, and then the PDF. The number of pages and the height of the middle mark in percent
from the top, 0 without marks, are written to stdout, in a line of their own, and then the picture as a PNG. Without
one, the exit code is not 0.
"""

import json
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from cdesearch.process_limits import bound_memory, die_with, write_no_core_file
from cdesearch.store.schema import EDGE
from cdesearch.words.word_forms import word_spans

MEMORY_BYTES = 600_000_000  # in addition to what this process needs before it reads the file
MAX_PIXELS = 9_000_000  # a page of A4 that is 2,000 pixels wide has 5,700,000
MAX_CHARACTERS = 50_000  # of a page in which words are looked for
MAX_MARKS = 1_000
PADDING = 1.0  # points between a word and the edge of its mark
MARK = (255, 224, 102, 255)  # multiplied with the colours of the page
Edges = tuple[float, float, float, float]  # the left, lower, right and upper edge of a word in points
END_OF_LINE = (0x02, 0xFFFE)  # what pdfium writes for a hyphen in a word that goes on in the next line


def main() -> None:
    """Answer one request."""
    die_with(int(sys.argv[1]))
    write_no_core_file()
    asked = json.loads(sys.stdin.buffer.readline())
    import pypdfium2

    bound_memory(MEMORY_BYTES)
    pdf = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    pdf.init_forms()
    page = pdf[asked["page"] - 1]
    found = chain(_places(page, asked["words"]), _places_on_lines(page, asked["lines"], asked["words"]))
    places = [*islice(found, MAX_MARKS)]
    for edges in places:
        _mark(page, edges)
    width, height = page.get_size()
    scale = min(asked["width"] / width, (MAX_PIXELS / (width * height)) ** 0.5)
    picture = _png(page.render(scale=scale, rev_byteorder=True))
    heights = sorted(_height(page, edges) for edges in places) or [0]
    sys.stdout.buffer.write(b"%d %d\n" % (len(pdf), heights[len(heights) // 2]) + picture)


def _places(page: Any, words: Sequence[str]) -> Iterator[Edges]:
    """Yield the left, lower, right and upper edge of each word on a page that begins with one of the stems `words`."""
    from pypdfium2 import raw

    text = page.get_textpage()
    codes = [raw.FPDFText_GetUnicode(text.raw, at) for at in range(min(text.count_chars(), MAX_CHARACTERS))]
    kept = [at for at, code in enumerate(codes) if code not in END_OF_LINE]
    shown = "".join(chr(min(codes[at], sys.maxunicode)) for at in kept)
    for start, end in word_spans(shown, words) if words else ():
        for part in range(text.count_rects(kept[start], kept[end - 1] + 1 - kept[start])):
            yield text.get_rect(part)


def _places_on_lines(page: Any, lines: Sequence[Any], words: Sequence[str]) -> Iterator[Edges]:
    """Yield the same edges of each word on the lines of a scanned page, as if all letters of a line had one width."""
    for shown, left, top, right, bottom in lines if words else ():
        width = (right - left) / len(shown)
        for start, end in word_spans(shown, words):
            corners = _on_page(page, left + width * start, bottom), _on_page(page, left + width * end, top)
            (x, other_x), (y, other_y) = zip(*corners, strict=True)
            yield min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)


def _on_page(page: Any, x: float, y: float) -> tuple[float, float]:
    """The point of a page, which may be turned, for one of the page as it is shown, whose edges are at 0 and EDGE."""
    from ctypes import byref, c_double

    from pypdfium2 import raw

    across, up = c_double(), c_double()
    raw.FPDF_DeviceToPage(page.raw, 0, 0, EDGE, EDGE, 0, round(x), round(y), byref(across), byref(up))
    return across.value, up.value


def _mark(page: Any, edges: Edges) -> None:
    from pypdfium2 import raw

    left, bottom, right, top = edges
    width, height = right - left + 2 * PADDING, top - bottom + 2 * PADDING
    mark = raw.FPDFPageObj_CreateNewRect(left - PADDING, bottom - PADDING, width, height)
    raw.FPDFPageObj_SetFillColor(mark, *MARK)
    raw.FPDFPath_SetDrawMode(mark, raw.FPDF_FILLMODE_WINDING, False)
    raw.FPDFPageObj_SetBlendMode(mark, b"Multiply")
    raw.FPDFPage_InsertObject(page.raw, mark)


def _height(page: Any, edges: Edges) -> int:
    """Where the middle of a word is on a page as it is shown, which may be turned, in percent from the top."""
    from ctypes import byref, c_int

    from pypdfium2 import raw

    left, bottom, right, top = edges
    x, y = c_int(), c_int()
    raw.FPDF_PageToDevice(page.raw, 0, 0, 100, 100, 0, (left + right) / 2, (bottom + top) / 2, byref(x), byref(y))
    return int(y.value)


def _png(bitmap: Any) -> bytes:
    """The PNG of a bitmap with three bytes for a pixel. Python alone writes one, and Pillow need not be installed."""
    pixels, row, stride = bytes(bitmap.buffer), 3 * bitmap.width, bitmap.stride
    rows = b"".join(b"\0" + pixels[start : start + row] for start in range(0, bitmap.height * stride, stride))
    header = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, 2, 0, 0, 0)
    parts = (b"IHDR" + header, b"IDAT" + zlib.compress(rows, 3), b"IEND")
    framed = (struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


if __name__ == "__main__":
    main()

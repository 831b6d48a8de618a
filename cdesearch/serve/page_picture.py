"""A process that draws one page of a PDF, which may be hostile: `python -m cdesearch.serve.page_picture PARENT`.

A line of JSON arrives on stdin, with the number of the page, the width, the stems and the quotation to mark, and
the lines of a scanned page, each with its words and edges, and then the PDF. The number of pages and the height of the
middle mark in percent from the top, 0 without marks, are written to stdout, in a line of their own, and then the
picture as a PNG. Without one, the exit code is not 0.
"""

import json
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from typing import Any, TypeVar
from unicodedata import normalize

from cdesearch.process_limits import bound_memory, die_with, write_no_core_file
from cdesearch.words.word_forms import word_spans

MEMORY_BYTES = 600_000_000  # in addition to what this process needs before it reads the file
MAX_PIXELS = 9_000_000  # a page of A4 that is 2,000 pixels wide has 5,700,000
MAX_CHARACTERS = 50_000  # of a page in which words are looked for
MAX_MARKS = 1_000
STEPS = 10_000  # from one edge of a page to the other, in which places on it are given
PADDING = 1.0  # points between a word and the edge of its mark
# Colours by which those of the page are multiplied
MARK, QUOTE = (255, 224, 102, 255), (255, 243, 196, 255)
Edges = tuple[float, float, float, float]  # the left, lower, right and upper edge of a word in points
Letters = list[tuple[int, str]]
Place = TypeVar("Place")
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
    lines, words, quote = asked["lines"], asked["words"], asked["quote"]
    text, letters = _letters(page)
    found = _quoted(letters, quote)
    of_text = _between(text, found[0], found[-1]) if found else ()
    quoted = [*of_text, *_places_of_quote_on_lines(page, lines, quote)][:MAX_MARKS]
    on_lines = (_on_line(page, line, *span) for line in lines if words for span in word_spans(line[0], words))
    places = [*islice(chain(_places(text, letters, words), on_lines), MAX_MARKS)]
    for edges, colour in (*zip(quoted, repeat(QUOTE)), *zip(places, repeat(MARK))):
        _mark(page, edges, colour)
    width, height = page.get_size()
    scale = min(asked["width"] / width, (MAX_PIXELS / (width * height)) ** 0.5)
    picture = _png(page.render(scale=scale, rev_byteorder=True))
    heights = sorted(_height(page, edges) for edges in quoted or places) or [0]
    sys.stdout.buffer.write(b"%d %d\n" % (len(pdf), heights[len(heights) // 2]) + picture)


def _letters(page: Any) -> tuple[Any, Letters]:
    """The text of a page, and its letters, each with its place in the text."""
    from pypdfium2 import raw

    text = page.get_textpage()
    codes = [raw.FPDFText_GetUnicode(text.raw, at) for at in range(min(text.count_chars(), MAX_CHARACTERS))]
    return text, [(at, chr(min(code, sys.maxunicode))) for at, code in enumerate(codes) if code not in END_OF_LINE]


def _places(text: Any, letters: Letters, words: Sequence[str]) -> Iterator[Edges]:
    """Yield the edges of each word of a text that begins with one of the stems `words`."""
    shown = "".join(letter for _, letter in letters)
    for start, end in word_spans(shown, words) if words else ():
        yield from _between(text, letters[start][0], letters[end - 1][0])


def _between(text: Any, first: int, last: int) -> Iterator[Edges]:
    for part in range(text.count_rects(first, last + 1 - first)):
        yield text.get_rect(part)


def _places_of_quote_on_lines(page: Any, lines: Sequence[Any], quote: str) -> Iterator[Edges]:
    """Yield the edges of the parts of a quotation on the lines of a scanned page."""
    letters = (((number, at), letter) for number, line in enumerate(lines) for at, letter in enumerate(line[0]))
    for number, found in groupby(_quoted(letters, quote), key=itemgetter(0)):
        within = [at for _, at in found]
        yield _on_line(page, lines[number], within[0], within[-1] + 1)


def _quoted(letters: Iterable[tuple[Place, str]], quote: str) -> list[Place]:
    """The places of the letters of a quotation, whatever signs and blanks are between them; none if it is not found."""
    wanted = _plain(quote)
    plain = [(place, one) for place, letter in letters for one in _plain(letter)] if wanted else []
    start = "".join(one for _, one in plain).find(wanted)
    return [place for place, _ in plain[start : start + len(wanted)]] if start >= 0 else []


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKD", text).casefold()))


def _on_line(page: Any, line: Sequence[Any], start: int, end: int) -> Edges:
    """The edges of letters of a line with these edges, as if all of its letters had one width."""
    shown, left, top, right, bottom = line
    width = (right - left) / len(shown)
    corners = _on_page(page, left + width * start, bottom), _on_page(page, left + width * end, top)
    (x, other_x), (y, other_y) = zip(*corners, strict=True)
    return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)


def _on_page(page: Any, x: float, y: float) -> tuple[float, float]:
    """The point of a page, which may be turned, for one of the page as it is shown, whose edges are at 0 and 1."""
    from ctypes import byref, c_double

    from pypdfium2 import raw

    across, up = c_double(), c_double()
    raw.FPDF_DeviceToPage(page.raw, 0, 0, STEPS, STEPS, 0, round(STEPS * x), round(STEPS * y), byref(across), byref(up))
    return across.value, up.value


def _mark(page: Any, edges: Edges, colour: tuple[int, int, int, int]) -> None:
    from pypdfium2 import raw

    left, bottom, right, top = edges
    width, height = right - left + 2 * PADDING, top - bottom + 2 * PADDING
    mark = raw.FPDFPageObj_CreateNewRect(left - PADDING, bottom - PADDING, width, height)
    raw.FPDFPageObj_SetFillColor(mark, *colour)
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

"""Make PDFs by hand, from lines of text at given positions."""

import re
from dataclasses import dataclass

FONTS = {
    "F1": "/Helvetica", "F2": "/Courier", "F3": "/Helvetica-Bold",
    "F4": "/Helvetica /ToUnicode 1001 0 R", "F5": "/Helvetica /ToUnicode 1002 0 R",
}  # fmt: skip
FIRST_LETTERS = {"F4": "\u05d0", "F5": "\u0627"}  # Hebrew and Arabic, which these fonts show instead of "a"
INFO = 3 + len(FONTS)  # the number of the object with the title; the pages follow
OUTLINE = 1000  # the number of the root of the outline


@dataclass(frozen=True)
class Line:
    """A line of text whose baseline begins at x, y in points; y grows upwards."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"
    is_turned: bool = False  # whether it runs upwards, as on a page that is shown turned by 90 degrees


def column(x, y, texts, pitch=12, **style):
    """Lines below one another."""
    return [Line(x, y - n * pitch, text, **style) for n, text in enumerate(texts)]


def from_right(text, font="F4"):
    """What a line of small letters shows if it is drawn from its end, in a font from right to left."""
    first = ord(FIRST_LETTERS[font])
    return "".join(chr(first + ord(one) - ord("a")) if "a" <= one <= "z" else one for one in text)


def pdf_of(pages, title=None, rotate=0, outline=(), *, notes="", catalogue="", others=None):
    """The bytes of a PDF that draws the lines of each page in the given order, on paper of 600 x 800 points.

    `outline` has the title, the number of the page from 0, and the entries below of each entry. `notes` are the
    annotations of each page, `catalogue` is more of the catalogue, and `others` are objects by numbers beyond 2000.
    """
    fonts = " ".join(f"/{name} {number} 0 R" for number, name in enumerate(FONTS, start=3))
    objects = {1: f"<< /Type /Catalog /Pages 2 0 R /Outlines {OUTLINE} 0 R {catalogue} >>"}
    for number, first in enumerate(FIRST_LETTERS.values(), start=OUTLINE + 1):
        objects[number] = stream(f"1 beginbfrange <61> <7A> <{ord(first):04X}> endbfrange")
    for number, name in enumerate(FONTS.values(), start=3):
        objects[number] = f"<< /Type /Font /Subtype /Type1 /BaseFont {name} >>"
    objects[INFO] = f"<< /Title ({title}) >>" if title else "<< >>"
    for number, lines in enumerate(pages):
        content = "".join(_drawn(line) for line in lines)
        objects[INFO + 1 + 2 * number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Rotate {rotate} /Annots [{notes}]"
            f" /Contents {INFO + 2 + 2 * number} 0 R /Resources << /Font << {fonts} >> >> >>"
        )
        objects[INFO + 2 + 2 * number] = stream(content)
    kids = " ".join(f"{INFO + 1 + 2 * number} 0 R" for number in range(len(pages)))
    objects[OUTLINE] = f"<< {_entries(objects, outline, OUTLINE)} >>"
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    return _file(objects | (others or {}))


def stream(content, entries=""):
    """An object with contents, such as instructions that draw."""
    return f"<< /Length {len(content)} {entries} >>\nstream\n{content}\nendstream"


def _entries(objects, entries, parent):
    """The references to the first and last of the entries, which are added to the objects."""
    numbers = []
    for title, page, below in entries:
        number = max(objects.keys() | {OUTLINE}) + 1
        numbers.append(number)
        objects[number] = ""  # entries below have higher numbers
        children = _entries(objects, below, number)
        place = f"/Dest [{INFO + 1 + 2 * page} 0 R /Fit]"
        objects[number] = f"<< /Title ({title}) /Parent {parent} 0 R {place} {children}"
    for number, following in zip(numbers, [*numbers[1:], None], strict=False):
        objects[number] += f" /Next {following} 0 R >>" if following else " >>"
    return f"/First {numbers[0]} 0 R /Last {numbers[-1]} 0 R" if numbers else ""


def _drawn(line):
    text = re.sub(r"([()\\])", r"\\\1", line.text)
    place = f"0 1 -1 0 {750 - line.y} {line.x} Tm" if line.is_turned else f"{line.x} {line.y} Td"
    return f"BT /{line.font} {line.size} Tf {place} ({text}) Tj ET\n"


def _file(objects):
    data, places = b"%PDF-1.4\n", {}
    for number in sorted(objects):
        places[number] = len(data)
        data += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("latin-1")
    table = "".join(f"{number} 1\n{place:010} 00000 n \n" for number, place in places.items())
    end = f"xref\n0 1\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {max(objects) + 1} /Root 1 0 R /Info {INFO} 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()

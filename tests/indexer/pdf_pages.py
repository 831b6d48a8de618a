"""Make PDFs by hand, from lines of text at given positions."""

import re
from dataclasses import dataclass

FONTS = {"F1": "Helvetica", "F2": "Courier"}


@dataclass(frozen=True)
class Line:
    """A line of text whose baseline begins at x, y in points; y grows upwards."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"


def column(x, y, texts, pitch=12, **style):
    """Lines below one another."""
    return [Line(x, y - n * pitch, text, **style) for n, text in enumerate(texts)]


def pdf_of(pages, title=None, rotate=0):
    """The bytes of a PDF that draws the lines of each page in the given order, on paper of 600 x 800 points."""
    fonts = " ".join(f"/{name} {number} 0 R" for number, name in enumerate(FONTS, start=3))
    objects = {1: "<< /Type /Catalog /Pages 2 0 R >>"}
    for number, name in enumerate(FONTS.values(), start=3):
        objects[number] = f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>"
    objects[5] = f"<< /Title ({title}) >>" if title else "<< >>"
    for number, lines in enumerate(pages):
        content = "".join(_drawn(line) for line in lines)
        objects[6 + 2 * number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Rotate {rotate} /Contents {7 + 2 * number} 0 R"
            f" /Resources << /Font << {fonts} >> >> >>"
        )
        objects[7 + 2 * number] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    return _file(objects)


def _drawn(line):
    text = re.sub(r"([()\\])", r"\\\1", line.text)
    return f"BT /{line.font} {line.size} Tf {line.x} {line.y} Td ({text}) Tj ET\n"


def _file(objects):
    data, places = b"%PDF-1.4\n", []
    for number in sorted(objects):
        places.append(len(data))
        data += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {len(places) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()

"""Parts of PDF files: what is printed, what people add to it, and what is embedded."""

from collections.abc import Callable
from dataclasses import dataclass

from pdf_pages import Line, column, from_right, pdf_of, stream

from parts.part import Part

KIND, FORM = "PDF", "/AcroForm << /Fields [2001 0 R] /DR << /Font << /F1 3 0 R >> >> /DA (/F1 10 Tf) >>"
WORDS = [f"Other words that stand in line {number}" for number in range(12)]


@dataclass(frozen=True)
class FromRight(Part):
    """A part with a sentence in Hebrew or Arabic letters."""

    font: str = "F4"

    @property
    def sentence(self) -> str:
        return from_right(super().sentence.lower(), self.font)


def _lines(*drawn: Line) -> bytes:
    return pdf_of([[*column(50, 700, WORDS), *drawn]])


def _printed(**place: str | float) -> Callable[[str], bytes]:
    return lambda sentence: pdf_of([[Line(50, 300, sentence), *column(50, 700, WORDS)]], **place)


def _columns(sentence: str) -> bytes:
    middle = sentence.index(" ", len(sentence) // 2)
    left = [*WORDS, sentence[:middle], sentence[middle + 1 :], *WORDS]
    return pdf_of(
        [[line for row in zip(column(50, 700, left), column(320, 700, WORDS * 3), strict=False) for line in row]]
    )


def _justified(sentence: str) -> bytes:
    words = sentence.split()
    return _lines(*(Line(50 + 80 * (n % 6), 500 - 12 * (n // 6), word) for n, word in enumerate(words)))


def _table(sentence: str) -> bytes:
    cells = [["Place", "Remark", "Year"], ["Harbour", sentence, "1907"], ["Mill", "none", "1911"]]
    return _lines(
        *(Line(50 + 220 * x, 500 - 14 * y, cell) for y, row in enumerate(cells) for x, cell in enumerate(row))
    )


def _from_right(font: str) -> Callable[[str], bytes]:
    first = ord(from_right("a", font))

    def build(sentence: str) -> bytes:
        letters = "".join(chr(ord(one) - first + ord("a")) if one > "z" else one for one in sentence)
        return pdf_of([[Line(50, 700, letters[::-1], font=font), Line(50, 680, "other words"[::-1], font=font)]])

    return build


def _note(entries: str, catalogue: str = "", **more: str) -> Callable[[str], bytes]:
    """A page with an annotation, in whose entries the sentence takes the place of @."""

    def build(sentence: str) -> bytes:
        others = {2001: f"<< /Type /Annot /Rect [50 200 400 220] {entries.replace('@', sentence)} >>"}
        others |= {int(number[1:]): f"<< {one.replace('@', sentence)} >>" for number, one in more.items()}
        notes = " ".join(f"{number} 0 R" for number, one in others.items() if "/Rect" in one)
        drawn = f"BT /F1 10 Tf 2 5 Td ({sentence}) Tj ET"
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        others[2009] = stream(drawn, f"/Type /XObject /Subtype /Form /BBox [0 0 350 20] {fonts}")
        return pdf_of([column(50, 700, WORDS)], notes=notes, catalogue=catalogue, others=others)

    return build


def _attached(sentence: str) -> bytes:
    names = "/Names << /EmbeddedFiles << /Names [(a) 2001 0 R] >> >>"
    others = {
        2001: "<< /Type /Filespec /F (notes.txt) /UF (notes.txt) /EF << /F 2002 0 R >> >>",
        2002: stream(sentence),
    }
    return pdf_of([column(50, 700, WORDS)], catalogue=names, others=others)


def _repeated(sentence: str) -> bytes:
    return pdf_of([[Line(50, 780, sentence), *column(50, 700, WORDS[n:])] for n in range(4)])


FIELD = "/Subtype /Widget /T (name)"
PASSWORD = f"{FIELD} /FT /Tx /Ff 8192 /AP << /N 2009 0 R >>"
STAMP = "/Type /Annot /Subtype /Stamp /Rect [50 300 400 320]"
PARTS = [
    Part(KIND, "text", ".pdf", _printed()),
    Part(KIND, "headings", ".pdf", lambda sentence: _lines(Line(50, 750, sentence, size=20))),
    Part(KIND, "headings that the outline names", ".pdf",
         lambda one: pdf_of([[Line(50, 700, one)]], outline=[(one, 0, [])])),
    Part(KIND, "the title", ".pdf", lambda sentence: pdf_of([column(50, 700, WORDS)], title=sentence)),
    Part(KIND, "columns", ".pdf", _columns),
    Part(KIND, "justified lines", ".pdf", _justified),
    Part(KIND, "tables", ".pdf", _table),
    Part(KIND, "turned pages", ".pdf", _printed(rotate=90)),
    FromRight(KIND, "Hebrew", ".pdf", _from_right("F4"), font="F4"),
    FromRight(KIND, "Arabic", ".pdf", _from_right("F5"), font="F5"),
    Part(KIND, "text fields", ".pdf", _note(f"{FIELD} /FT /Tx /V (@)", FORM)),
    Part(KIND, "fields on several pages", ".pdf", _note("/Subtype /Widget /Parent 2002 0 R",
         FORM.replace("2001", "2002"), n2002="/FT /Tx /T (name) /V (@) /Kids [2001 0 R]")),
    Part(KIND, "choices", ".pdf", _note(f"{FIELD} /FT /Ch /Ff 131072 /V (x) /Opt [[(x) (@)] (none)]", FORM)),
    Part(KIND, "typed choices", ".pdf", _note(f"{FIELD} /FT /Ch /Ff 393216 /V (@) /Opt [(none)]", FORM)),
    Part(KIND, "lists of choices", ".pdf",
         _note(f"{FIELD} /FT /Ch /Ff {1 << 21} /V [(none) (@)] /Opt [(@) (none)]", FORM)),
    Part(KIND, "fields outside a form", ".pdf", _note(f"{FIELD} /FT /Tx /V (@) /AP << /N 2009 0 R >>")),
    Part(KIND, "notes", ".pdf", _note("/Subtype /Text /Contents (@)")),
    Part(KIND, "free text", ".pdf", _note("/Subtype /FreeText /DA (/F1 10 Tf) /Contents (@)")),
    Part(KIND, "stamps", ".pdf", _note("/Subtype /Stamp /AP << /N 2009 0 R >>")),
    Part(KIND, "comments on highlights", ".pdf", _note("/Subtype /Highlight /Contents (@)")),
    Part(KIND, "pop-ups", ".pdf", _note("/Subtype /Popup /Contents (@)")),
    Part(KIND, "embedded files", ".pdf", _attached),
    Part(KIND, "hidden notes", ".pdf", _note("/Subtype /Text /F 2 /Contents (@)"), is_read=False),
    Part(KIND, "passwords in fields", ".pdf", _note(f"{PASSWORD} /V (@)", FORM), is_read=False),
    Part(KIND, "passwords beside stamps", ".pdf", _note(f"{PASSWORD} /V (@)", FORM, n2002=STAMP), is_read=False),
    Part(KIND, "passwords outside a form", ".pdf", _note(f"{PASSWORD} /V (@)", n2002=STAMP), is_read=False),
    Part(KIND, "headers and footers that pages repeat", ".pdf", _repeated, is_read=False),
    Part(KIND, "titles of the outline that no page has", ".pdf",
         lambda one: pdf_of([column(50, 700, WORDS)], outline=[(one, 0, [])]), is_read=False),
    Part(KIND, "text outside the page", ".pdf", lambda sentence: _lines(Line(700, 300, sentence)), is_read=False),
]  # fmt: skip

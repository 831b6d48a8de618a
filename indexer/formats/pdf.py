"""Convert PDF to text, page by page: columns in reading order, without headers and footers, with headings."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ctypes import create_string_buffer
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from indexer.formats.format import Document, Format, Heading, OpenFile, UnreadableError
from indexer.formats.pdf_headings import LARGE, Found, Outline, found_headings, levelled, outline_of, rounded
from indexer.formats.pdf_layout import COMPOUND, rows_of, text_of, without_repeated
from indexer.formats.pdf_notes import files_in, notes_of
from indexer.formats.pdf_segments import Segment, segments_of

MAX_PAGES = 50_000  # a forged file may claim any number
WINDOW = 200  # pages that are compared with each other to find headers and footers
PLACEHOLDERS = ("(anonymous)", "(unspecified)", "untitled")  # that programs write for a title that they do not know
SCAN_DPI = 150  # dots per inch
PROPERTIES = {key: key for key in ("Title", "Author", "Subject", "Keywords")} | {"CreationDate": "created"}


class _Page(NamedTuple):
    segments: list[Segment]
    notes: list[str]


class Pdf(Format):
    """PDF with text; a scanned PDF is unreadable. A page that is broken has no text."""

    suffixes = frozenset({".pdf"})

    def __init__(self, find_format: Callable[[str], Format | None]) -> None:
        """Read embedded files of the formats that are found by their names."""
        self._find_format = find_format

    def read(self, file: OpenFile) -> Iterator[Document]:
        import pypdfium2

        logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns of forms in XFA
        try:
            pdf = pypdfium2.PdfDocument(file.stream.read())
        except pypdfium2.PdfiumError as error:
            encrypted = "password" in str(error).lower()
            raise UnreadableError("encrypted PDF" if encrypted else "broken PDF") from None
        try:
            pdf.init_forms()
            text = _Text(outline_of(pdf))
            pages = _pages(pdf, file)
            while window := list(islice(pages, WINDOW)):
                text.add(window)
            found = pdf.get_metadata_dict()
            title = str(found.get("Title") or "").strip()
            file.fields.extend((name, str(found.get(key) or "")) for key, name in PROPERTIES.items())
            embedded = list(files_in(pdf, file, self._find_format))
        except pypdfium2.PdfiumError:
            raise UnreadableError("broken PDF") from None
        finally:
            pdf.close()
        if any(part.strip() for part in text.parts):
            yield text.document(file, "" if title.lower() in PLACEHOLDERS else title)
        elif not embedded:
            offer = "" if file.has_ocr else "; `cdesearch index --ocr` reads scanned pages"
            raise UnreadableError(f"PDF without text{offer}")
        yield from embedded


@dataclass(slots=True)
class _Text:
    """The text of the pages so far."""

    outline: Outline
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # of the pages
    size: int = 0  # in characters
    headings: list[Found] = field(default_factory=list)
    compounds: set[str] = field(default_factory=set)  # words with a hyphen within a line
    sizes: Counter[float] = field(default_factory=Counter)  # characters in each font size

    def add(self, pages: Sequence[_Page]) -> None:
        """Add neighbouring pages."""
        for page in pages:
            for segment in page.segments:
                self.sizes[rounded(segment.size)] += len(segment.text)
                if "-" in segment.text:
                    self.compounds.update(word.lower() for word in COMPOUND.findall(segment.text))
        body_size = max(self.sizes, key=lambda size: (self.sizes[size], size), default=0.0)
        cleaned = without_repeated([page.segments for page in pages], LARGE * body_size)
        for page, segments in zip(pages, cleaned, strict=True):
            if self.starts:
                self._put("\n\n")
            self.starts.append(self.size)
            self._add_rows(segments, body_size)
            for note in page.notes:
                self._put(f"\n\n{note}")

    def document(self, file: OpenFile, title: str) -> Document:
        """The whole text, with the largest heading of the first page as its title if it has none."""
        headings = levelled(self.headings)
        end = self.starts[1] if len(self.starts) > 1 else self.size
        on_first_page = [heading for heading in headings if heading.offset < end]
        title = title or min(on_first_page, key=lambda heading: heading.level, default=Heading(0, 1, file.name)).title
        return Document.of(file, title, "".join(self.parts), headings=headings, pages=tuple(self.starts))

    def _add_rows(self, segments: Sequence[Segment], body_size: float) -> None:
        blocks = found_headings(rows_of(segments), body_size, self.outline, len(self.starts) - 1)
        for number, (rows, found) in enumerate(blocks):
            if number:
                self._put("\n\n")
            shown = text_of(rows, self.compounds)
            if found is not None:
                shown = " ".join(shown.split())
                self.headings.append(found._replace(offset=self.size, title=shown))
            self._put(shown)

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)


def _pages(pdf: Any, file: OpenFile) -> Iterator[_Page]:
    import pypdfium2

    if len(pdf) > MAX_PAGES:
        raise UnreadableError(f"PDF of more than {MAX_PAGES:,} pages")
    direction = create_string_buffer(8)
    pypdfium2.raw.FPDF_VIEWERREF_GetName(pdf.raw, b"Direction", direction, len(direction))
    n_broken = 0
    for number in range(len(pdf)):
        try:
            yield _page(pdf, number, file, is_reversed=direction.value == b"R2L")
        except pypdfium2.PdfiumError:
            n_broken += 1
            yield _Page([], [])
    if n_broken == len(pdf):
        raise UnreadableError("broken PDF")


def _page(pdf: Any, number: int, file: OpenFile, *, is_reversed: bool) -> _Page:
    import pypdfium2

    page = pdf[number]
    try:
        notes, has_others = notes_of(pdf, page, number, file)
        if has_others:  # what they show becomes text of the page
            pypdfium2.raw.FPDFPage_Flatten(page.raw, pypdfium2.raw.FLAT_NORMALDISPLAY)
            page.close()
            page = pdf[number]
        rotation = page.get_rotation()
        page.set_rotation(0)  # else pdfium mixes the lines
        segments = segments_of(page, is_reversed=is_reversed, is_turned=rotation % 180 != 0)
        if file.has_ocr and not segments and any(True for _ in page.get_objects(max_depth=1)):
            page.set_rotation(rotation)
            segments = _recognised(page, file)
    finally:
        page.close()
    shown = "".join("".join(segment.text.split()) for segment in segments) if notes else ""
    return _Page(segments, [note for note in notes if "".join(note.split()) not in shown])


def _recognised(page: Any, file: OpenFile) -> list[Segment]:
    """The recognised text of a page that has no text of its own."""
    import numpy as np

    from indexer.formats.ocr import MAX_PIXELS, recognise

    file.progress()
    width, height = page.get_size()
    scale = min(SCAN_DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
    return recognise(np.ascontiguousarray(page.render(scale=scale).to_numpy()[:, :, :3]), 1 / scale)

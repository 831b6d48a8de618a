"""Convert PDF to text, page by page: columns in reading order, without headers and footers, with headings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.pdf_headings import LARGE, Found, Outline, found_headings, levelled, outline_of, rounded
from indexer.formats.pdf_layout import rows_of, text_of, without_repeated
from indexer.formats.pdf_segments import Segment, segments_of

MAX_PAGES = 50_000  # a forged file may claim any number
LAYOUT_CHARACTERS = 4_000_000  # reading the layout takes most of the time, so pages after these are read without it
WINDOW = 200  # pages that are compared with each other to find headers and footers
PLACEHOLDERS = ("(anonymous)", "(unspecified)", "untitled")  # that programs write for a title that they do not know
SCAN_DPI = 150  # dots per inch

_Page = list[Segment] | str  # plain text if the layout of the page is not read


class Pdf(Format):
    """PDF with text; a scanned PDF is unreadable."""

    suffixes = frozenset({".pdf"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        title, text = _title_and_text(file)
        headings = levelled(text.headings)
        end = text.starts[1] if len(text.starts) > 1 else text.size
        on_first_page = [heading for heading in headings if heading.offset < end]
        largest = min(on_first_page, key=lambda heading: heading.level).title if on_first_page else ""
        title = title or largest or file.name
        pages = tuple(text.starts)
        yield Document(file.path, file.path, title, "".join(text.parts), "text", headings=headings, pages=pages)


@dataclass(slots=True)
class _Text:
    """The text of the pages so far."""

    outline: Outline
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # of the pages
    size: int = 0  # in characters
    headings: list[Found] = field(default_factory=list)
    sizes: Counter[float] = field(default_factory=Counter)  # characters in each font size

    def add(self, pages: Sequence[_Page]) -> None:
        """Add neighbouring pages."""
        arranged = [page for page in pages if not isinstance(page, str)]
        for page in arranged:
            for segment in page:
                self.sizes[rounded(segment.size)] += len(segment.text)
        body_size = max(self.sizes, key=lambda size: (self.sizes[size], size), default=0.0)
        cleaned = iter(without_repeated(arranged, LARGE * body_size))
        for one in pages:
            if self.starts:
                self._put("\n\n")
            self.starts.append(self.size)
            if isinstance(one, str):
                self._put(one)
            else:
                self._add_rows(next(cleaned), body_size)

    def _add_rows(self, segments: Sequence[Segment], body_size: float) -> None:
        blocks = found_headings(rows_of(segments), body_size, self.outline, len(self.starts) - 1)
        for number, (rows, found) in enumerate(blocks):
            if number:
                self._put("\n\n")
            shown = text_of(rows)
            if found is not None:
                shown = " ".join(shown.split())
                self.headings.append(found._replace(offset=self.size, title=shown))
            self._put(shown)

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)


def _title_and_text(file: OpenFile) -> tuple[str, _Text]:
    """Title and text; a page that is broken has no text. Raises UnreadableError."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(file.stream.read())
    except pypdfium2.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableError("encrypted PDF" if encrypted else "broken PDF") from None
    try:
        text = _Text(outline_of(pdf))
        pages = _pages(pdf, file)
        while window := list(islice(pages, WINDOW)):
            text.add(window)
        title = str(pdf.get_metadata_dict().get("Title") or "").strip()
    except pypdfium2.PdfiumError:
        raise UnreadableError("broken PDF") from None
    finally:
        pdf.close()
    if not any(part.strip() for part in text.parts):
        offer = "" if file.has_ocr else "; `cdesearch index --ocr` reads scanned pages"
        raise UnreadableError(f"PDF without text{offer}")
    return "" if title.lower() in PLACEHOLDERS else title, text


def _pages(pdf: Any, file: OpenFile) -> Iterator[_Page]:
    import pypdfium2

    if len(pdf) > MAX_PAGES:
        raise UnreadableError(f"PDF of more than {MAX_PAGES:,} pages")
    n_broken = size = 0
    for number in range(len(pdf)):
        try:
            page = _page(pdf, number, file, has_layout=size < LAYOUT_CHARACTERS)
        except pypdfium2.PdfiumError:
            n_broken += 1
            page = ""
        size += len(page) if isinstance(page, str) else sum(len(segment.text) for segment in page)
        yield page
    if n_broken == len(pdf):
        raise UnreadableError("broken PDF")


def _page(pdf: Any, number: int, file: OpenFile, *, has_layout: bool) -> _Page:
    page = pdf[number]
    try:
        text_page = page.get_textpage()
        try:
            segments = segments_of(page, text_page) if has_layout else None
            read = segments if segments is not None else _plain(text_page)
        finally:
            text_page.close()
        is_scanned = file.has_ocr and not read and any(True for _ in page.get_objects(max_depth=1))
        return _recognised(page, file) if is_scanned else read
    finally:
        page.close()


def _recognised(page: Any, file: OpenFile) -> list[Segment]:
    """The recognised text of a page that has no text of its own."""
    import numpy as np

    from indexer.formats.ocr import MAX_PIXELS, recognise

    file.progress()
    width, height = page.get_size()
    scale = min(SCAN_DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
    return recognise(np.ascontiguousarray(page.render(scale=scale).to_numpy()[:, :, :3]), 1 / scale)


def _plain(text_page: Any) -> str:
    """The text of a page in the order of the file. pdfium marks the hyphen at the end of a line as U+0002."""
    text: str = text_page.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\x02\n", "").replace("\x02", "")

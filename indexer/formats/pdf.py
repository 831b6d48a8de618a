"""Convert PDF to text, page by page."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.unreadable import UnreadableError

MAX_PAGES = 50_000
MAX_CHARACTERS = 100_000_000  # of all pages; a page may draw the same text over and over


class Pdf(Format):
    """PDF with text; a scanned PDF is unreadable."""

    suffixes = frozenset({".pdf"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        title, pages = _title_and_pages(file.stream.read())
        starts, offset = [], 0
        for page in pages:
            starts.append(offset)
            offset += len(page) + 2
        yield Document(file.path, file.path, title or file.name, "\n\n".join(pages), "text", pages=tuple(starts))


def _title_and_pages(data: bytes) -> tuple[str, list[str]]:
    """Title and the text of each page, "" for a page that is broken; raises UnreadableError."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableError("encrypted PDF" if encrypted else "broken PDF") from None
    try:
        pages = list(_texts(pdf))
        title = str(pdf.get_metadata_dict().get("Title") or "")
    except pypdfium2.PdfiumError:
        raise UnreadableError("broken PDF") from None
    finally:
        pdf.close()
    if not any(page.strip() for page in pages):
        raise UnreadableError("PDF without text (scanned?)")
    return title.strip(), pages


def _texts(pdf: Any) -> Iterator[str]:
    import pypdfium2

    if len(pdf) > MAX_PAGES:
        raise UnreadableError(f"PDF of more than {MAX_PAGES:,} pages")
    size = broken = 0
    for number in range(len(pdf)):
        try:
            text = _text(pdf, number)
        except pypdfium2.PdfiumError:
            broken += 1
            text = ""
        size += len(text)
        if size > MAX_CHARACTERS:
            raise UnreadableError(f"PDF of more than {MAX_CHARACTERS:,} characters")
        yield text
    if broken == len(pdf):
        raise UnreadableError("broken PDF")


def _text(pdf: Any, number: int) -> str:
    page = pdf[number]
    try:
        text_page = page.get_textpage()
        try:
            return _joined(text_page.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n"))
        finally:
            text_page.close()
    finally:
        page.close()


def _joined(text: str) -> str:
    """Join words that a line end has split: pdfium marks the hyphen with a control character."""
    return text.replace("\x02\n", "").replace("\x02", "")

"""PDF, DOCX and notebooks to text."""

import io
import json
import re
from typing import Any

from indexer.formats.unreadable import UnreadableError


def pdf_pages(data: bytes) -> tuple[str, list[str]]:
    """Title and the text of each page; raises UnreadableError."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableError("encrypted PDF" if encrypted else "broken PDF") from None
    try:
        pages = []
        for page in pdf:
            text_page = page.get_textpage()
            pages.append(_joined(text_page.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n")))
            text_page.close()
            page.close()
        title = str(pdf.get_metadata_dict().get("Title") or "")
    except pypdfium2.PdfiumError:
        raise UnreadableError("broken PDF") from None
    finally:
        pdf.close()
    if not any(page.strip() for page in pages):
        raise UnreadableError("PDF without text (scanned?)")
    return title.strip(), pages


def _joined(text: str) -> str:
    """Words that a line end had parted: pdfium marks the hyphen with a control character."""
    return re.sub("\x02\n?", "", text)


def docx_markdown(data: bytes) -> tuple[str, str]:
    """Title and Markdown of a Word document, tables included; raises UnreadableError."""
    import docx
    from docx.table import Table

    try:
        document = docx.Document(io.BytesIO(data))
    except Exception:  # python-docx lets zipfile's, lxml's and its own errors through
        raise UnreadableError("broken DOCX") from None
    parts = []
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            parts.append("\n".join(" | ".join(cell.text for cell in row.cells) for row in item.rows))
            continue
        style = item.style.name if item.style is not None and item.style.name else ""
        level = int(style.removeprefix("Heading ")) if style.removeprefix("Heading ").isdigit() else 0
        level = 1 if style == "Title" else level
        parts.append(f"{'#' * level} {item.text}" if level else item.text)
    return (document.core_properties.title or "").strip(), "\n\n".join(part for part in parts if part.strip())


def notebook_markdown(text: str) -> str:
    """Markdown cells as they are, code cells fenced; outputs are left out; raises UnreadableError."""
    try:
        cells: list[dict[str, Any]] = json.loads(text)["cells"]
        parts = []
        for cell in cells:
            source = "".join(cell["source"])
            parts.append(f"```\n{source}\n```" if cell["cell_type"] == "code" else source)
    except (ValueError, KeyError, TypeError):
        raise UnreadableError("not a Jupyter notebook") from None
    return "\n\n".join(parts)

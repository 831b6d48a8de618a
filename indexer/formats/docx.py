"""Convert Word documents to Markdown."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.markdown import converted_document
from indexer.formats.package import Package, parse_xml
from indexer.formats.unreadable import UnreadableError

CORE = "docProps/core.xml"
NOTES = ("footnote", "endnote")
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
EMPTY_CORE = b'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>'


class Docx(Format):
    """Word documents in Office Open XML."""

    suffixes = frozenset({".docx"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        title, markdown = _to_markdown(file.stream.read())
        yield converted_document(file.path, title, markdown)


def _to_markdown(data: bytes) -> tuple[str, str]:
    """Title and Markdown of a Word document, tables included; raises UnreadableError."""
    import docx

    try:
        document = docx.Document(io.BytesIO(_checked(data)))
        parts = [part for part in _parts(document) if part.strip()]
        return _title(document), "\n\n".join(parts)
    except (UnreadableError, MemoryError):
        raise
    except Exception:  # python-docx raises errors of zipfile, of lxml and of its own, and many others
        raise UnreadableError("broken DOCX") from None


def _checked(data: bytes) -> bytes:
    """A copy of the archive without pictures, after counting the bytes that its parts really unpack to.

    python-docx unpacks every part whole, even if it is larger than the archive declares.
    """
    package = Package(data, "DOCX")
    unpacked = io.BytesIO()
    with zipfile.ZipFile(unpacked, "w") as checked:
        for name in package.names:
            part = package.read(name) if name.lower().endswith((".xml", ".rels")) else b""
            checked.writestr(name, EMPTY_CORE if name == CORE and not _is_xml(part) else part)
    return unpacked.getvalue()


def _is_xml(part: bytes) -> bool:
    try:
        parse_xml(part, "DOCX")
    except UnreadableError:
        return False
    return True


def _title(document: Any) -> str:
    try:
        return (document.core_properties.title or "").strip()
    except Exception:  # without its title, the text is still worth reading
        return ""


def _parts(document: Any) -> Iterator[str]:
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    notes = _notes(document)
    for element in _blocks(document.element.body):
        if element.tag == qn("w:tbl"):
            yield "\n".join(" | ".join(row) for row in _rows(element))
        else:
            paragraph = Paragraph(element, document._body)
            level = _level(paragraph)
            yield f"{'#' * level} {paragraph.text}" if level else paragraph.text
            yield from _text_boxes(element)
            for kind in NOTES:
                for reference in element.iter(qn(f"w:{kind}Reference")):
                    yield notes.get((kind, reference.get(qn("w:id"))), "")


def _notes(document: Any) -> dict[tuple[str, str], str]:
    """The texts of footnotes and endnotes by their kind and id. python-docx itself does not read them."""
    from docx.oxml.ns import qn

    found = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2].removesuffix("s")
        if kind in NOTES and not relation.is_external:
            for note in parse_xml(relation.target_part.blob, "DOCX").iter(qn(f"w:{kind}")):
                lines = ("".join(text.text or "" for text in one.iter(qn("w:t"))) for one in note.iter(qn("w:p")))
                found[kind, note.get(qn("w:id"))] = "\n".join(line for line in lines if line.strip())
    return found


def _text_boxes(paragraph: Any) -> Iterator[str]:
    """The text of each box that is anchored in a paragraph. The fallback for old programs repeats it."""
    from docx.oxml.ns import qn

    for box in paragraph.iter(qn("w:txbxContent")):
        if not any(above.tag == FALLBACK for above in box.iterancestors()):
            yield "\n".join(element.text for element in box.iter(qn("w:p")) if element.text.strip())


def _level(paragraph: Any) -> int:
    style = paragraph.style.name if paragraph.style is not None and paragraph.style.name else ""
    if style == "Title":
        return 1
    digits = style.removeprefix("Heading ")
    return int(digits) if len(digits) == 1 and digits in "123456789" else 0


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, also those inside content controls."""
    from docx.oxml.ns import qn

    for element in parent:
        if element.tag in (qn("w:p"), qn("w:tbl")):
            yield element
        elif element.tag == qn("w:sdt"):
            content = element.find(qn("w:sdtContent"))
            yield from _blocks(content) if content is not None else ()


def _rows(table: Any) -> Iterator[list[str]]:
    """The text of a table's cells. A cell that spans columns is written once; one that spans rows, in each of them.

    python-docx itself repeats a cell for each column that it claims to span, which can be 100,000,000.
    """
    from docx.oxml.ns import qn

    above: dict[int, str] = {}
    for row in table.iterchildren(qn("w:tr")):
        column, texts, below = 0, [], {}
        for cell in row.iterchildren(qn("w:tc")):
            properties = cell.find(qn("w:tcPr"))
            span = merge = None
            if properties is not None:
                span, merge = properties.find(qn("w:gridSpan")), properties.find(qn("w:vMerge"))
            is_continued = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
            text = above.get(column, "") if is_continued else _cell(cell)
            if merge is not None:
                below[column] = text
            texts.append(text)
            width = span.get(qn("w:val"), "1") if span is not None else "1"
            column += int(width) if width.isdecimal() and len(width) < 10 else 1
        above = below
        yield texts


def _cell(cell: Any) -> str:
    """The text of a cell, with tables inside it row by row."""
    from docx.oxml.ns import qn

    lines = []
    for element in _blocks(cell):
        if element.tag == qn("w:tbl"):
            lines += [" | ".join(row) for row in _rows(element)]
        else:
            lines.append(element.text)
    return "\n".join(lines)

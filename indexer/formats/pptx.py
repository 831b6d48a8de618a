"""Read PowerPoint presentations: a slide is a page, with its title, texts, tables and notes."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.package import Package, attribute, local_name, main_part, related_part, relations, title_of
from indexer.formats.slides import Slide, slides_document

KIND = "PPTX"
TITLES = ("title", "ctrTitle")
# Placeholders that repeat what the layout of all slides contains
LAYOUT = ("dt", "ftr", "hdr", "sldNum", "sldImg")


class Pptx(Format):
    """PowerPoint presentations in Office Open XML, hidden slides included."""

    suffixes = frozenset({".pptx", ".ppsx", ".pptm"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        part = main_part(package)
        targets = relations(package, part)
        slides: list[Slide] = []
        listed = package.xml(part).iterfind("{*}sldIdLst/{*}sldId")
        # Only a forged file shows a slide twice.
        for number, name in enumerate(dict.fromkeys(related_part(one, targets)[1] for one in listed), start=1):
            try:
                slides.append(_slide(package, name))
            except UnreadableError as error:
                file.left_out.add(number, f"cannot be read: {error}", "slide")
                slides.append(Slide("", []))
        if slides and len(slides) == file.left_out.n_lines:
            raise UnreadableError(f"none of its slides can be read: {file.left_out.problems}")
        yield slides_document(file, title_of(package, "docProps/core.xml"), slides)


def _slide(package: Package, part: str) -> Slide:
    title, blocks = "", []
    for shape in _shapes(package.xml(part)):
        role = _role(shape)
        if role in LAYOUT:
            continue
        text = _text(shape)
        if role in TITLES and not title:
            title = " ".join(text.split())
        else:
            blocks.append(text)
    notes = []
    for kind, target in relations(package, part).values():
        if kind == "notesSlide":
            notes += [_text(shape) for shape in _shapes(package.xml(target)) if _role(shape) == "body"]
        elif kind == "diagramData":
            blocks.append("\n".join(_paragraphs(package.xml(target))))
        elif kind == "chart":
            blocks.append(_chart_text(package.xml(target)))
    return Slide(title, blocks, "\n".join(notes))


def _chart_text(chart: Any) -> str:
    """The titles of a chart and of its axes, and the names of its series and of their categories, in a line each."""
    titles = [" ".join(text.split()) for title in chart.iter("{*}title") for text in _paragraphs(title)]
    series = list(chart.iter("{*}ser"))
    names = [[_cached_texts(one.find(f"{{*}}{name}")) for one in series] for name in ("tx", "cat")]
    lines = (" | ".join(dict.fromkeys(text for texts in found for text in texts)) for found in names)
    return "\n".join(filter(None, (*titles, *lines)))


def _cached_texts(reference: Any) -> list[str]:
    """The texts of cells that a chart refers to, which are stored in it as well. Numbers are left out."""
    if reference is None:
        return []
    stored = reference.iter("{*}strCache", "{*}multiLvlStrCache", "{*}strLit")
    return [" ".join(value.text.split()) for texts in stored for value in texts.iter("{*}v") if value.text]


def _shapes(parent: Any) -> Iterator[Any]:
    """Shapes with text, and frames with tables, also inside groups; of alternatives the first one."""
    for element in parent:
        name = local_name(element)
        if name in ("sp", "graphicFrame"):
            yield element
        elif name in ("cSld", "spTree", "grpSp", "AlternateContent", "Choice"):
            yield from _shapes(element)


def _role(shape: Any) -> str:
    """What a placeholder is for, such as "title"; "body" if it does not say, and "" for any other shape."""
    found = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return attribute(found, "type", "body") if found is not None else ""


def _text(shape: Any) -> str:
    tables = list(shape.iter("{*}tbl"))
    if tables:
        return "\n\n".join("\n".join(_rows(table)) for table in tables)
    return "\n".join(_paragraphs(shape))


def _rows(table: Any) -> Iterator[str]:
    """The rows of a table; a cell that continues another one is empty."""
    for row in table.iterchildren("{*}tr"):
        cells = [cell for cell in row.iterchildren("{*}tc") if not {"hMerge", "vMerge"} & set(cell.attrib)]
        texts = [" ".join(" ".join(_paragraphs(cell)).split()) for cell in cells]
        if any(texts):
            yield " | ".join(texts)


def _paragraphs(parent: Any) -> Iterator[str]:
    """The text of each paragraph; items of lists are indented by their level."""
    for paragraph in parent.iter("{*}p"):
        pieces = paragraph.iter("{*}t", "{*}br")
        text = "".join("\n" if local_name(piece) == "br" else piece.text or "" for piece in pieces).strip()
        if text:
            properties = paragraph.find("{*}pPr")
            level = attribute(properties, "lvl", "0") if properties is not None else "0"
            yield "  " * (int(level) if level in set("12345678") else 0) + text

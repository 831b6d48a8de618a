"""Read PowerPoint presentations: a slide is a page, with its title, texts, tables, comments and notes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from indexer.formats.format import MAX_TITLE, Document, Format, Heading, OpenFile, UnreadableError
from indexer.formats.markdown import table_of
from indexer.formats.package import (
    Package,
    alternative_texts,
    attribute,
    local_name,
    main_part,
    paragraphs,
    related_part,
    relations,
    texts_beside,
    title_of,
)

KIND = "PPTX"
TITLES = ("title", "ctrTitle")
NUMBERS = ("sldNum", "sldImg")  # placeholders for the number of a slide, and its picture beside the notes
REPEATED = ("dt", "ftr", "hdr")  # placeholders whose text most slides repeat


@dataclass(frozen=True, slots=True)
class Slide:
    """The text of one slide."""

    title: str  # in one line
    blocks: list[str]  # paragraphs, lists and tables
    notes: str = ""


def slides_document(file: OpenFile, title: str, slides: Sequence[Slide]) -> Document:
    """The document of all slides; the title of a slide is the heading of its chunks."""
    pages, headings, texts = [], [], []
    offset = 0
    for number, slide in enumerate(slides, start=1):
        notes = f"Notes: {slide.notes}" if slide.notes.strip() else ""
        text = "\n\n".join(part for part in (slide.title, *slide.blocks, notes) if part.strip())
        pages.append(offset)
        headings.append(Heading(offset, 1, slide.title[:MAX_TITLE] or f"Slide {number}"))
        texts.append(text)
        offset += len(text) + 2
    first = next((slide.title for slide in slides if slide.title), "")
    return Document.of(file, title or first, "\n\n".join(texts), headings=tuple(headings), pages=tuple(pages))


class Pptx(Format):
    """PowerPoint presentations in Office Open XML, hidden slides included."""

    suffixes = frozenset({".pptx", ".ppsx", ".pptm"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        part = main_part(package)
        targets = relations(package, part)
        slides: list[Slide] = []
        repeated: set[str] = set()
        listed = package.xml(part).iterfind("{*}sldIdLst/{*}sldId")
        # Only a forged file shows a slide twice.
        for number, name in enumerate(dict.fromkeys(related_part(one, targets)[1] for one in listed), start=1):
            try:
                slides.append(_slide(package, name, repeated))
            except UnreadableError as error:
                file.left_out.add(number, f"cannot be read: {error}", "slide")
                slides.append(Slide("", []))
        if slides and len(slides) == file.left_out.n_lines:
            raise UnreadableError(f"none of its slides can be read: {file.left_out.problems}")
        yield slides_document(file, title_of(package, "docProps/core.xml", file), slides)


def _slide(package: Package, part: str, repeated: set[str]) -> Slide:
    """A slide; texts that slides repeat are read of the first one, and added to `repeated`."""
    title, blocks = "", []
    root = package.xml(part)
    for shape in _shapes(root):
        role, text = _role(shape), _text(shape)
        if role in NUMBERS or (role in REPEATED and text in repeated):
            continue
        if role in TITLES and not title:
            title = " ".join(text.split())
        else:
            blocks.append(text)
        if role in REPEATED:
            repeated.add(text)
    notes = []
    targets = relations(package, part).values()
    for kind, target in targets:
        if kind == "notesSlide":
            notes += [_text(shape) for shape in _shapes(package.xml(target)) if _role(shape) == "body"]
        elif kind == "comments":
            comments = package.xml(target)  # older ones have their text without paragraphs
            texts = *paragraphs(comments), *(one.text or "" for one in comments.iter("{*}text"))
            blocks += (f"Comment: {text}" for text in texts)
    return Slide(title, [*blocks, *alternative_texts(root), *texts_beside(package, targets)], "\n".join(notes))


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
        return "\n\n".join(table_of(_rows(table)) for table in tables)
    return "\n".join(paragraphs(shape))


def _rows(table: Any) -> Iterator[list[str]]:
    """The rows of a table; a cell that continues another one is empty."""
    for row in table.iterchildren("{*}tr"):
        cells = [cell for cell in row.iterchildren("{*}tc") if not {"hMerge", "vMerge"} & set(cell.attrib)]
        yield [" ".join(paragraphs(cell)) for cell in cells]

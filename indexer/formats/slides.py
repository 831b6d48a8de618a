"""The document of a presentation: a slide is a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from indexer.formats.format import MAX_TITLE, Document, Heading, OpenFile


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

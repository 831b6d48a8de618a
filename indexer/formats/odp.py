"""Read OpenDocument presentations: a slide is a page, with its title, texts, tables and notes."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.opendocument import CONTENT, blocks, open_package
from indexer.formats.package import attribute, local_name
from indexer.formats.slides import Slide, slides_document


class Odp(Format):
    """OpenDocument presentations, hidden slides included."""

    suffixes = frozenset({".odp", ".otp"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package, title = open_package(file.stream.read(), "ODP")
        body = package.xml(CONTENT).find("{*}body/{*}presentation")
        if body is None:
            raise package.broken()
        yield slides_document(file, title, [_slide(page) for page in body.iterchildren("{*}page")])


def _slide(page: Any) -> Slide:
    title = ""
    texts: list[str] = []
    notes: list[str] = []
    for element in page:
        if local_name(element) == "notes":
            notes += blocks(element)
            continue
        found = [text for text in blocks([element]) if text.strip()]
        if attribute(element, "class") == "title" and not title:
            title = " ".join(" ".join(found).split())
        else:
            texts += found
    return Slide(title, texts, "\n".join(text for text in notes if text.strip()))

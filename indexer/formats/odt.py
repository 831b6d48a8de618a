"""Convert OpenDocument texts to Markdown."""

from collections.abc import Iterator

from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.markdown import converted_document
from indexer.formats.opendocument import CONTENT, STYLES, blocks, open_package


class Odt(Format):
    """OpenDocument texts, without deleted text, comments and tables of contents."""

    suffixes = frozenset({".odt", ".ott"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package, title = open_package(file.stream.read(), "ODT")
        if CONTENT not in package.names and STYLES in package.names:  # a template that consists of styles alone
            yield converted_document(file.path, title, "")
            return
        body = package.xml(CONTENT).find("{*}body/{*}text")
        if body is None:
            raise package.broken()
        yield converted_document(file.path, title, "\n\n".join(text for text in blocks(body) if text.strip()))

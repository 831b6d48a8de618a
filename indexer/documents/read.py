"""Read a file into documents, by the format that its name determines."""

from collections.abc import Iterator
from dataclasses import replace

from indexer.formats.encoding import without_surrogates
from indexer.formats.format import MAX_TITLE, Document, OpenFile, UnreadableError
from indexer.formats.registry import format_of


def read(file: OpenFile) -> Iterator[Document]:
    """The documents in an open file; raises UnreadableError, whatever is wrong with it."""
    try:
        for document in format_of(file.name).read(file):
            yield _tidy(document)
    except (UnreadableError, MemoryError):
        raise
    except Exception as error:  # parsers raise many errors; only this file is lost
        raise UnreadableError(f"its parser failed ({type(error).__name__})") from error


def _tidy(document: Document) -> Document:
    """The document without characters that UTF-8 cannot encode, and with a title of bounded length."""
    return replace(
        document,
        title=without_surrogates(document.title)[:MAX_TITLE],
        text=without_surrogates(document.text),
    )

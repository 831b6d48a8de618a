"""A file to documents: text, title, headings and places."""

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import PurePosixPath
from typing import Literal

from indexer.formats import DOCX, HTML, MARKDOWN, NOTEBOOK, PDF, RECORDS, RST, language_of, suffix_of
from indexer.formats.html import to_markdown
from indexer.formats.office import docx_markdown, notebook_markdown, pdf_pages
from indexer.formats.records import Columns, read_records
from indexer.formats.unreadable import UnreadableError
from indexer.walk import Source

MINIFIED = 500  # characters a line; people write code in shorter ones

Layout = Literal["markdown", "text", "code"]

_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)
_ATX = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<title>[^\s\W_][^\n]*)\n(?P<line>([=\-~^\"'`#*+.:])\3{2,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading stands in a document's text."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Document:
    """One source file or record as read."""

    id: str  # the path, or path#document of a record
    path: str
    title: str
    text: str
    layout: Layout
    language: str | None = None  # of code
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()  # offsets where pages start, for formats that have pages
    has_lines: bool = False  # whether lines of `text` are lines of the file
    record: str | None = None  # the id of a record, which may be one chunk of several of its document


def hash_contents(stream: BufferedIOBase) -> str:
    """Hash of a file's contents; the stream is at its start again."""
    stream.seek(0)
    digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    stream.seek(0)
    return digest


def read(source: Source, stream: BufferedIOBase, columns: Columns) -> Iterator[Document]:
    """The documents in one file; raises UnreadableError, or SourceError for a column that is not there."""
    name = PurePosixPath(source.path).name
    suffix = suffix_of(name)
    if suffix in RECORDS:
        for record in read_records(stream, suffix, columns):
            document = f"{source.path}#{record.document}"
            text = record.text if record.text.strip() else record.title  # a title alone is worth finding
            yield Document(document, source.path, record.title, text, "text", record=record.id)
        return
    data = stream.read()
    if suffix == PDF:
        yield _pdf(source.path, data)
    elif suffix == DOCX:
        yield _rendered(source.path, *docx_markdown(data))
    elif suffix in HTML:
        yield _rendered(source.path, *to_markdown(_decode(data)))
    elif suffix == NOTEBOOK:
        yield _rendered(source.path, "", notebook_markdown(_decode(data)))
    else:
        yield _plain(source.path, name, suffix, _decode(data))


def _plain(path: str, name: str, suffix: str, text: str) -> Document:
    language = language_of(name, text)
    if language is not None:
        if len(text) > MINIFIED * (text.count("\n") + 1):
            raise UnreadableError("minified or generated code")
        return Document(path, path, name, text, "code", language=language, has_lines=True)
    if suffix in MARKDOWN:
        headings = _markdown_headings(text)
        title = _front_matter_title(text) or (headings[0].title if headings else name)
        return Document(path, path, title, text, "markdown", headings=headings, has_lines=True)
    if suffix in RST:
        headings = _underlined_headings(text)
        title = headings[0].title if headings else name
        return Document(path, path, title, text, "markdown", headings=headings, has_lines=True)
    return Document(path, path, name, text, "text", has_lines=True)


def _rendered(path: str, title: str, markdown: str) -> Document:
    headings = _markdown_headings(markdown)
    title = title or (headings[0].title if headings else PurePosixPath(path).name)
    return Document(path, path, title, markdown, "markdown", headings=headings)


def _pdf(path: str, data: bytes) -> Document:
    title, pages = pdf_pages(data)
    starts, offset = [], 0
    for page in pages:
        starts.append(offset)
        offset += len(page) + 2
    return Document(path, path, title or PurePosixPath(path).name, "\n\n".join(pages), "text", pages=tuple(starts))


def _decode(data: bytes) -> str:
    """UTF-8 (with or without mark) or marked UTF-16; raises UnreadableError. Line ends become "\\n"."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in data[:8192]:
        raise UnreadableError("binary")
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8 text") from None


def _markdown_headings(text: str) -> tuple[Heading, ...]:
    fences = [match.start() for match in _FENCE.finditer(text)]
    headings, inside = [], 0
    for match in _ATX.finditer(text):
        while inside < len(fences) and fences[inside] < match.start():
            inside += 1
        if inside % 2 == 0:  # an odd number of fences before it: a comment in a code block
            headings.append(Heading(match.start(), len(match[1]), match[2]))
    return tuple(headings)


def _underlined_headings(text: str) -> tuple[Heading, ...]:
    """reStructuredText sections: the order in which underline characters first occur gives their level."""
    levels: dict[str, int] = {}
    headings = []
    for match in _UNDERLINED.finditer(text):
        if len(match["line"]) >= len(match["title"].rstrip()):
            level = levels.setdefault(match["line"][0], len(levels) + 1)
            headings.append(Heading(match.start(), level, match["title"].strip()))
    return tuple(headings)


def _front_matter_title(text: str) -> str:
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    title = re.search(r"^title:[ \t]*(.+)$", match[1], re.MULTILINE) if match else None
    return title[1].strip().strip("\"'") if title else ""

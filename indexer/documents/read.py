"""A file to documents: text, title, headings and places."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedIOBase
from pathlib import PurePosixPath
from typing import Literal

from cdesearch.store.schema import text_hash
from indexer.files.walk import Source
from indexer.formats import DOCX, HTML, MARKDOWN, NOTEBOOK, PDF, RECORDS, RST, language_of, suffix_of
from indexer.formats.docx import docx_markdown
from indexer.formats.encoding import decode, without_surrogates
from indexer.formats.html import to_markdown
from indexer.formats.notebook import notebook_markdown
from indexer.formats.pdf import pdf_pages
from indexer.formats.records import Columns, LeftOut, read_records
from indexer.formats.unreadable import UnreadableError

MINIFIED = 500  # characters a line; people write code in shorter ones

MAX_TITLE = 500  # characters of a title or heading; more would be stored with each chunk
MAX_ID = 1000

Layout = Literal["markdown", "text", "code"]

_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)
_ATX = re.compile(r"^(#{1,6})[ \t]+(.*)$", re.MULTILINE)
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


def read(
    source: Source, stream: BufferedIOBase, columns: Columns, left_out: LeftOut | None = None
) -> Iterator[Document]:
    """The documents in one file; raises UnreadableError, whatever is wrong with it.

    `left_out` counts lines that cannot be read in a file that can.
    """
    try:
        for document in _documents(source.path, stream, columns, left_out or LeftOut()):
            yield _tidy(document)
    except (UnreadableError, MemoryError):
        raise
    except Exception as error:  # a parser stumbled in a way that nobody has seen: one file is lost, not the run
        raise UnreadableError(f"its parser failed ({type(error).__name__})") from error


def _documents(path: str, stream: BufferedIOBase, columns: Columns, left_out: LeftOut) -> Iterator[Document]:
    name = PurePosixPath(path).name
    suffix = suffix_of(name)
    if suffix in RECORDS:
        for record in read_records(stream, suffix, columns, left_out):
            text = record.text if record.text.strip() else record.title  # a title alone is worth finding
            yield Document(f"{path}#{_short(record.document)}", path, record.title, text, "text", record=record.id)
        return
    data = stream.read()
    if suffix == PDF:
        yield _pdf(path, data)
    elif suffix == DOCX:
        yield _rendered(path, *docx_markdown(data))
    elif suffix in HTML:
        yield _rendered(path, *to_markdown(decode(data, is_markup=True)))
    elif suffix == NOTEBOOK:
        yield _rendered(path, "", notebook_markdown(decode(data)))
    else:
        yield _plain(path, name, suffix, decode(data))


def _tidy(document: Document) -> Document:
    """Nothing that UTF-8 cannot hold, and nothing endless in what is stored with each chunk."""
    return replace(
        document,
        title=without_surrogates(document.title)[:MAX_TITLE],
        text=without_surrogates(document.text),
        record=None if document.record is None else _short(document.record),
    )


def _short(identity: str) -> str:
    """An id as it is; of one that is endless, the beginning and a hash."""
    return identity if len(identity) <= MAX_ID else f"{identity[:MAX_ID]}...{text_hash(identity)}"


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


def _markdown_headings(text: str) -> tuple[Heading, ...]:
    fences = [match.start() for match in _FENCE.finditer(text)]
    headings, inside = [], 0
    for match in _ATX.finditer(text):
        while inside < len(fences) and fences[inside] < match.start():
            inside += 1
        if inside % 2 == 0:  # an odd number of fences before it: a comment in a code block
            title = match[2].rstrip(" \t#") or match[2][:1]  # "# #" is a heading named "#"
            if title:
                headings.append(Heading(match.start(), len(match[1]), title[:MAX_TITLE]))
    return tuple(headings)


def _underlined_headings(text: str) -> tuple[Heading, ...]:
    """reStructuredText sections: the order in which underline characters first occur gives their level."""
    levels: dict[str, int] = {}
    headings = []
    for match in _UNDERLINED.finditer(text):
        if len(match["line"]) >= len(match["title"].rstrip()):
            level = levels.setdefault(match["line"][0], len(levels) + 1)
            headings.append(Heading(match.start(), level, match["title"].strip()[:MAX_TITLE]))
    return tuple(headings)


def _front_matter_title(text: str) -> str:
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    title = re.search(r"^title:[ \t]*(.+)$", match[1], re.MULTILINE) if match else None
    return title[1].strip().strip("\"'") if title else ""

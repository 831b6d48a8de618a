"""Convert electronic books to Markdown, chapter by chapter in the order of reading."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Anchor, Document, Format, OpenFile
from indexer.formats.html import VOID, Page, to_markdown
from indexer.formats.markdown import converted_document
from indexer.formats.package import Package, attribute, parse_xml, title_of
from indexer.formats.unreadable import UnreadableError

KIND = "EPUB"
CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "")
MAX_CHARACTERS = 100_000_000  # of all chapters
GAP = "\n\n"  # between chapters

# XML may close any element at once, which a parser of HTML reads as an opening tag.
_CLOSED_AT_ONCE = re.compile(r"<([a-zA-Z][\w:.-]{0,50})((?:\s[^<>]{0,2000})?)/>")


class Epub(Format):
    """Electronic books without copy protection. The titles of the table of contents are headings."""

    suffixes = frozenset({".epub"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        book = _Book(package)
        chapters: list[str] = []
        anchors: list[Anchor] = []
        size = 0
        for number, part in enumerate(book.chapters(), start=1):
            try:
                chapter = _chapter(package.read(part), book.titles.get(part, ""))
            except UnreadableError as error:
                file.left_out.unit = "chapter"
                file.left_out.add(number, f"cannot be read: {error}")
                continue
            chapters.append(chapter.text)
            if chapter.text:
                anchors += _within_book(chapter, part, size)
                size += len(chapter.text) + len(GAP)
            if size > MAX_CHARACTERS:
                raise UnreadableError(f"{KIND} of more than {MAX_CHARACTERS:,} characters")
        if not chapters:
            raise _nothing_read(package, file, is_encrypted=book.is_encrypted)
        yield converted_document(file.path, book.title, GAP.join(filter(None, chapters)), tuple(anchors))


def _nothing_read(package: Package, file: OpenFile, *, is_encrypted: bool) -> UnreadableError:
    if file.left_out.n_lines:
        return UnreadableError(f"none of its chapters can be read: {file.left_out.problems}")
    return UnreadableError(f"encrypted {KIND}") if is_encrypted else package.broken()


class _Book:
    """The contents of a book as its package lists them."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._file = _package_file(package)
        self._root = package.xml(self._file)
        self._items = {attribute(item, "id"): item for item in self._root.iterfind("{*}manifest/{*}item")}
        self._encrypted = _encrypted_parts(package)
        self.title = title_of(package, self._file)
        self.is_encrypted = False  # whether a chapter was left out because it is encrypted
        self.titles = self._titles()

    def chapters(self) -> Iterator[str]:
        """The parts in the order of reading, each once."""
        seen = {part for part in (self._navigation(),) if part is not None}
        for reference in self._root.iterfind("{*}spine/{*}itemref"):
            item = self._items.get(attribute(reference, "idref"))
            if item is None or attribute(item, "media-type") not in PAGES:
                continue
            part = self._part(self._file, attribute(item, "href"))
            if part in self._encrypted:
                self.is_encrypted = True
            elif part not in seen and part in self._package.names:
                seen.add(part)
                yield part

    def _part(self, base: str, reference: str) -> str:
        path = unquote(reference.partition("#")[0])
        return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")

    def _navigation(self) -> str | None:
        """The part with the table of contents of EPUB 3, which is not a chapter."""
        for item in self._items.values():
            if "nav" in attribute(item, "properties").split():
                return self._part(self._file, attribute(item, "href"))
        return None

    def _titles(self) -> dict[str, str]:
        """The first title that the table of contents has for each part; none if it cannot be read."""
        titles: dict[str, str] = {}
        part = self._navigation()
        try:
            if part is not None:
                links = _links(self._package.read(part))
            else:
                item = next((one for one in self._items.values() if "ncx" in attribute(one, "media-type")), None)
                part = self._part(self._file, attribute(item, "href")) if item is not None else ""
                links = _points(self._package.xml(part)) if part else iter(())
            for reference, title in links:
                if title:
                    titles.setdefault(self._part(part, reference), title)
        except UnreadableError:
            pass
        return titles


def _package_file(package: Package) -> str:
    if CONTAINER not in package.names:
        raise package.broken()
    found = package.xml(CONTAINER).find(".//{*}rootfile")
    if found is None:
        raise package.broken()
    return attribute(found, "full-path")


def _encrypted_parts(package: Package) -> set[str]:
    """Parts that only a reader with a licence can decrypt; many books only encrypt their fonts."""
    if ENCRYPTION not in package.names:
        return set()
    found = package.xml(ENCRYPTION).iter("{*}CipherReference")
    return {unquote(attribute(element, "URI")).lstrip("/") for element in found}


def _links(page: bytes) -> Iterator[tuple[str, str]]:
    root = parse_xml(page, KIND)
    for link in root.iter("{*}a"):
        yield attribute(link, "href"), " ".join("".join(link.itertext()).split())


def _points(ncx: Any) -> Iterator[tuple[str, str]]:
    for point in ncx.iter("{*}navPoint"):
        content, label = point.find("{*}content"), point.find("{*}navLabel")
        if content is not None and label is not None:
            yield attribute(content, "src"), " ".join("".join(label.itertext()).split())


def _within_book(chapter: Page, part: str, start: int) -> Iterator[Anchor]:
    """The anchors of a chapter that begins at `start` in the book: its part, and its part with the id of an element."""
    if not part.isprintable() or len(part) > MAX_TITLE:
        return
    if not chapter.anchors or chapter.anchors[0].offset > 0:
        yield Anchor(start, part)
    for anchor in chapter.anchors:
        yield Anchor(start + anchor.offset, f"{part}#{anchor.name}")


def _chapter(data: bytes, title: str) -> Page:
    """The Markdown of a chapter, which begins with its heading, or else its title in the table of contents."""
    markup = _CLOSED_AT_ONCE.sub(_opened_and_closed, decode(data, is_markup=True))
    page = to_markdown(markup)
    if title and page.text and not page.text.startswith("# "):
        heading = f"# {title}\n\n"
        moved = tuple(Anchor(len(heading) + anchor.offset, anchor.name) for anchor in page.anchors)
        return Page(title, heading + page.text, moved)
    return page


def _opened_and_closed(tag: re.Match[str]) -> str:
    return tag[0] if tag[1].lower() in VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"
